"""The rooms and the things of The Light on Skerry (see `skerry.py`)."""

from timeful.environments.fiction.story import AWAY, Room, Thing

ROOMS = {
    "jetty": Room(
        title="Jetty",
        text="Wet planks, a bollard, and the boat already small. A beach lies to the north.",
        ways={"north": "beach"},
    ),
    "beach": Room(
        title="Shingle Beach",
        text="Stones rattle under every wave. The jetty is south, a boathouse stands open to the "
        "east, rock pools shine to the west, and a path climbs north.",
        ways={"south": "jetty", "east": "boathouse", "west": "pools", "north": "path"},
    ),
    "boathouse": Room(
        title="Boathouse",
        text="No boat, only pegs and cobwebs, and daylight from the beach to the west.",
        ways={"west": "beach", "out": "beach"},
    ),
    "pools": Room(
        title="Rock Pools",
        text="The tide has left pools among the rocks. Back east is the beach.",
        ways={"east": "beach"},
    ),
    "path": Room(
        title="Cliff Path",
        text="The path goes down south to the beach. A ruined chapel lies west. To the north is "
        "the gate of the lighthouse yard.",
        ways={"south": "beach", "west": "chapel", "north": "yard"},
        shut={"north": ("is fed", "The dog bares its teeth. You are not going past it.")},
    ),
    "chapel": Room(
        title="Ruined Chapel",
        text="The roof is gone, but a hymn board still hangs on the wall. Worn steps lead down "
        "into a crypt; the path is east.",
        ways={"east": "path", "down": "crypt"},
    ),
    "crypt": Room(
        title="Crypt",
        text="Low vaults, sand on the floor, and names that nobody can read. Steps lead up.",
        ways={"up": "chapel"},
        dark=True,
    ),
    "yard": Room(
        title="Lighthouse Yard",
        text="The white tower stands to the north, its door shut. The keeper's cottage is west, "
        "a walled garden east, and the gate south.",
        ways={"south": "path", "west": "kitchen", "east": "garden", "north": "hall"},
        shut={
            "west": ("is cottage_open", "The cottage door is locked."),
            "north": ("is tower_open", "The tower door is locked; it wants a big key."),
        },
    ),
    "garden": Room(
        title="Walled Garden",
        text="Cabbages, and a well with a winch over it. A shed leans against the wall to the "
        "north. The yard is west.",
        ways={"west": "yard", "north": "shed"},
    ),
    "shed": Room(
        title="Shed",
        text="It smells of tar. The garden is south.",
        ways={"south": "garden", "out": "garden"},
    ),
    "kitchen": Room(
        title="Keeper's Kitchen",
        text="A cold stove, a shelf, a rug on the flagstones. The bedroom is north, the yard east.",
        ways={"east": "yard", "north": "bedroom", "down": "cellar"},
        shut={"down": ("is rug_moved", "You see no way down.")},
    ),
    "bedroom": Room(
        title="Keeper's Bedroom",
        text="The bed is made. A safe with a dial is set into the wall, and a slip of paper is "
        "pinned above it. The kitchen is south.",
        ways={"south": "kitchen"},
    ),
    "cellar": Room(
        title="Cellar",
        text="Grey light falls through the trapdoor above. There is a drum of lamp oil here. "
        "A tunnel leads north into the dark.",
        ways={"up": "kitchen", "north": "tunnel"},
    ),
    "tunnel": Room(
        title="Tunnel",
        text="Hewn rock, dripping. South is the cellar. To the east the tunnel goes on behind an "
        "iron grating.",
        ways={"south": "cellar", "east": "cave"},
        shut={"east": ("is grating_open", "The grating has rusted shut.")},
        dark=True,
    ),
    "cave": Room(
        title="Smugglers' Cave",
        text="The sea booms somewhere below. Whoever worked here left in a hurry. The only way "
        "out is the tunnel to the west.",
        ways={"west": "tunnel"},
        dark=True,
    ),
    "hall": Room(
        title="Foot of the Tower",
        text="A round room, whitewashed. Stairs wind up; the yard is south.",
        ways={"south": "yard", "up": "stairs"},
    ),
    "stairs": Room(
        title="Winding Stairs",
        text="Halfway up, with the wind in a slit of a window. Stairs lead up and down.",
        ways={"down": "hall", "up": "watch"},
    ),
    "watch": Room(
        title="Watch Room",
        text="The clockwork that turns the lens fills half the room; a bare hook hangs from its "
        "chain, and a square axle sticks out of its side. Stairs lead up and down.",
        ways={"down": "stairs", "up": "lamp_room"},
    ),
    "lamp_room": Room(
        title="Lamp Room",
        text="Glass all around. In the middle stands the burner, and around it an empty frame. "
        "A door leads east to the gallery, stairs lead down.",
        ways={"down": "watch", "east": "gallery"},
    ),
    "gallery": Room(
        title="Gallery",
        text="An iron walk around the lamp, high over the sea. Storm shutters cover the seaward "
        "glass. The lamp room is west.",
        ways={"west": "lamp_room"},
    ),
}

FIXED = {
    "dog": Thing(
        name="big dog", at="path", text="Hungry, and loud.", lies="A big dog bars the gate.",
        also="hound animal",
    ),
    "pool": Thing(
        name="rock pools", at="pools", text="Shrimps, weed, and a fat fish.", also="pool fish"
    ),
    "board": Thing(name="hymn board", at="chapel", text="", also="number numbers"),
    "well": Thing(name="old well", at="garden", text="The rope goes a long way down."),
    "winch": Thing(name="winch", at="garden", text="Its axle is square, and lacks a handle."),
    "cottage": Thing(name="cottage door", at="yard", text="A plain lock.", also="cottage"),
    "tower": Thing(name="tower door", at="yard", text="Oak, iron, and a big lock.", also="tower"),
    "shelf": Thing(name="shelf", at="kitchen", text="Dust, and rings where tins stood."),
    "rug": Thing(name="rug", at="kitchen", text="One corner is turned up.", also="carpet"),
    "trapdoor": Thing(
        name="trapdoor", at=AWAY, text="It stands open.", lies="A trapdoor leads down."
    ),
    "safe": Thing(
        name="safe", at="bedroom", text="It opens to a number of three digits.", also="dial"
    ),
    "paper": Thing(name="slip of paper", at="bedroom", text="It says: THE SAME AS ON SUNDAY."),
    "drum": Thing(name="oil drum", at="cellar", text="Nearly full.", also="tap"),
    "chest": Thing(
        name="sea chest", at="cellar", text="Nailed shut.", lies="A sea chest stands by the wall."
    ),
    "grating": Thing(name="iron grating", at="tunnel", text="More rust than iron.", also="grate"),
    "clockwork": Thing(
        name="clockwork", at="watch", text="It wants a weight on its hook, and to be wound.",
        also="clock works axle hook chain",
    ),
    "burner": Thing(name="burner", at="lamp_room", text="It takes oil and a wick.", also="lamp"),
    "frame": Thing(name="frame", at="lamp_room", text="Something big and round belongs in it."),
    "shutters": Thing(name="shutters", at="gallery", text="Jammed by salt.", also="storm shutter"),
    "niche": Thing(
        name="niche", at="crypt", text="", lies="In one wall is a niche behind a loose slab.",
        also="slab loose",
    ),
}  # fmt: skip

LOOSE = {
    "lantern": Thing(
        name="storm lantern", at="boathouse", weight=1, text="There is some oil in it.",
        lies="A storm lantern hangs from a peg.", also="lamp",
    ),
    "net": Thing(
        name="hand net", at="boathouse", weight=1, text="For shrimps and small fish.",
        lies="A hand net leans in a corner.",
    ),
    "handle": Thing(
        name="crank handle", at="boathouse", weight=1, text="Iron, with a square socket.",
        lies="There is a crank handle here.", also="crank",
    ),
    "fish": Thing(
        name="fat fish", at=AWAY, weight=1, text="It still twitches.", lies="A fat fish lies here."
    ),
    "crowbar": Thing(
        name="crowbar", at="shed", weight=2, text="A yard of steel.",
        lies="A crowbar stands behind the door.", also="bar",
    ),
    "can": Thing(
        name="oil can", at="kitchen", weight=1, text="It holds as much as a big lamp needs.",
        lies="An oil can stands on the shelf.",
    ),
    "key": Thing(
        name="small key", at=AWAY, weight=1, text="A house key.", lies="A small key lies here."
    ),
    "matches": Thing(
        name="box of matches", at="boathouse", weight=1, text="Nearly full, and dry.",
        lies="A box of matches lies on the sill.", also="match",
    ),
    "big_key": Thing(
        name="big key", at=AWAY, weight=1, text="As long as your hand.",
        lies="A big key lies here.",
    ),
    "wick": Thing(
        name="new wick", at=AWAY, weight=1, text="Flat, woven, unused.",
        lies="A new wick lies here.",
    ),
    "lens": Thing(
        name="glass lens", at="cave", weight=4, text="As wide as a cartwheel, and whole.",
        lies="Between broken crates stands a glass lens.",
    ),
    "weight": Thing(
        name="iron weight", at="hall", weight=5, text="It has an eye to hang it by.",
        lies="An iron weight stands by the wall.",
    ),
}  # fmt: skip
