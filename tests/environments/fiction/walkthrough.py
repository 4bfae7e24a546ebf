"""How our own game is won with all its points; kept here, and nowhere where a player could look."""

import re

from timeful.environments.fiction.engine import StoryGame

WALK = """
n; e; take lantern; take matches; light lantern; take net; take handle; w; w; dip net in pools
drop net; e; n; give fish to dog; w; examine board; d; move slab; take wick; u; e; n; e
put handle on winch; turn winch; take key; take handle; n; take crowbar; s; w
unlock cottage with key; drop key; drop handle; w; take can; n; dial {code}; take big key; s
move rug; d; fill can; pry chest with crowbar; take wick; drop big key; drop can; n; pry grating
e; take lens; w; s; drop lantern; take big key; u; e; unlock tower; n; drop wick; u; u; u
put lens in frame; e; pry shutters; w; drop crowbar; drop big key; d; d; d; take wick; s
take handle; w; d; take can; u; e; n; take weight; u; u; hang weight on hook
put handle on clockwork; wind clockwork; u; pour can into burner; put wick in burner
light burner with matches
"""
"""The wick is taken in both places where it may lie: one of the two says that there is none."""


def walk(game: StoryGame) -> list[str]:
    """Win a game; what was typed and what was said."""
    said, code = [game.opening], ""
    for action in re.split(r"[;\n]", WALK.strip()):
        typed = action.strip().format(code=code)
        text = game.step(typed)
        said.append(f"> {typed}\n{text}")
        found = re.search(r"hang there: (\d+)", text)
        code = found.group(1) if found else code
        if game.over:
            break
    return said
