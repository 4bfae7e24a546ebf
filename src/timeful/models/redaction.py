"""Keys and passwords of endpoints: checked where they enter, and removed from all that is kept."""

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Sequence
from urllib.parse import quote, unquote, urlsplit

from timeful.errors import SettingsError
from timeful.models.sse import overlap_length

_SHORTEST = 4
"""The characters of a secret, at least: a shorter one is a part of common words."""


def clean_key(key: str) -> str:
    """A key without white space around it, such as the newline at the end of a file.

    Raises:
        SettingsError: If it cannot be sent in a header.
    """
    key = key.strip()
    if not all(" " <= letter <= "~" for letter in key):
        raise SettingsError("the API key has control or non-ASCII characters; check its variable")
    return key


def find_secrets(base_url: str, api_key: str) -> tuple[str, ...]:
    """All forms of a key and of the credentials of an address, the longest first."""
    user, colon, password = urlsplit(base_url).netloc.rpartition("@")[0].partition(":")
    plain = {api_key} if api_key != "none" else set()
    if user:
        plain |= {password, unquote(password)} if colon else {user, unquote(user)}
        plain.add(f"{unquote(user)}:{unquote(password)}")
    plain |= {secret.strip() for secret in plain}
    forms = {form for secret in plain if len(secret) >= _SHORTEST for form in _forms(secret)}
    return tuple(sorted(forms, key=lambda form: (-len(form), form)))


def _forms(secret: str) -> set[str]:
    forms = {secret, repr(secret)[1:-1], json.dumps(secret)[1:-1]}
    forms |= {quote(secret), quote(secret, safe="")}
    for encode in (b64encode, urlsafe_b64encode):
        encoded = encode(secret.encode()).decode()
        forms |= {encoded, encoded.rstrip("=")}
    return forms


def redact(text: str, secrets: Sequence[str]) -> str:
    """Replace secrets in a text by `<key>`."""
    for secret in secrets:
        text = text.replace(secret, "<key>")
    return text


class Redactor:
    """Removes secrets from a text in pieces; the beginning of a secret waits for the next piece.

    Args:
        secrets: What to remove; see `find_secrets`.
    """

    def __init__(self, secrets: Sequence[str]) -> None:
        self._secrets = secrets
        self._held = ""

    def feed(self, text: str) -> str:
        """Add text and return what is certain by now."""
        if not self._secrets:
            return text
        text, self._held = redact(self._held + text, self._secrets), ""
        if length := overlap_length(text, self._secrets):
            text, self._held = text[:-length], text[-length:]
        return text

    def flush(self) -> str:
        """Return the text held back, at the end."""
        text, self._held = self._held, ""
        return text
