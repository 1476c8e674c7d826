"""Secrets: all text that leaves the process passes through ``redacted`` first: a server's error
message may quote the key it received."""

from __future__ import annotations

import hashlib
import json
import os
import re
from functools import lru_cache
from itertools import pairwise
from urllib.parse import parse_qsl, quote, unquote, urlsplit, urlunsplit

MASK = "[redacted]"

_SECRET = re.compile(
    r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|AUTHORIZATION|CREDENTIALS?|COOKIE|SIGNATURE"
    r"|(?:^|[^A-Z])(?:AUTH|PAT|SIG)|^CODE)\Z",
    re.IGNORECASE,
)
"""Last word of names with secret values: environment variables, fields, headers and query values.
Short words must stand alone: ``COMPAT`` does not match ``PAT``."""
_HARMLESS = re.compile(
    r"(?:accept|accept-language|alt|anthropic-beta|anthropic-version|api-version|beta|content-type"
    r"|deployment|dialect|format|http-referer|lang|language|location|model|openai-beta"
    r"|openai-organization|openai-project|project|referer|region|stream|timeout|user-agent|v"
    r"|version|x-title)\Z",
    re.IGNORECASE,
)
"""Headers and query values that are shown; all others are hidden."""
_PREFIXES = ("sk", "pk", "rk", "hf", "ghp", "gho", "glpat", "pat", "xoxb", "xoxp")
"""Prefixes that issuers put before their keys."""

_MIN_VARIABLE_LENGTH = 8  # shorter values may be ordinary words: ``SORT_KEY=name``
_MIN_LENGTH = 4  # shorter words are not redacted: they occur in ordinary text

_registered: set[str] = set()


def remember(secret: str) -> None:
    """Add a secret that ``redacted`` replaces, and read the environment again. Short words are
    ignored: redacting a local server's key ``none`` everywhere would break pages and records."""
    is_word = len(secret) < _MIN_VARIABLE_LENGTH and secret.isalpha()
    if len(secret) >= _MIN_LENGTH and not is_word:
        _registered.add(secret)
        _secret_forms.cache_clear()


def is_secret(name: str) -> bool:
    """True if a variable, field, header or query value of this name holds a secret.

    >>> is_secret("OPENAI_API_KEY"), is_secret("x-api-key"), is_secret("max_tokens")
    (True, True, False)
    """
    return _SECRET.search(name) is not None


def environment_secrets() -> dict[str, str]:
    """Return the secrets in the environment by variable name, read again."""
    _secret_forms.cache_clear()
    # By name first: reading a value is slow, and few hold a secret.
    return {name: os.environ[name] for name in os.environ if is_secret(name)}


def redacted(text: str) -> str:
    """Return the text with every secret replaced by ``[redacted]``.

    Secrets are those passed to ``remember``, and those in the environment when it was last read (at
    the start of a run, and at each ``remember``), also as escaped in JSON and in URLs.
    """
    for secret in _secret_forms():
        if secret in text:
            text = text.replace(secret, MASK)
    return text


def hidden(name: str, value: str) -> str:
    """Return the value of a header or query parameter in a safe form, and remember its secrets.

    Harmless names keep their value. For unknown names, four digits of a checksum are shown, which
    distinguish servers with different values.

    >>> hidden("api-version", "7"), hidden("x-pat", "abcd1234"), hidden("variant", "small")
    ('7', '[redacted]', '[redacted 81db]')
    """
    if _HARMLESS.match(name):
        return value
    if is_secret(name):
        remember(value)
    for word in re.split(r"[\s;,=]+", value):
        if _is_key(word):
            remember(word)
    digest = hashlib.sha256(value.encode(errors="replace")).hexdigest()
    return MASK if is_secret(name) else f"{MASK[:-1]} {digest[:4]}]"


def without_secrets(address: str) -> str:
    """Return a URL without user, password, keys in its path and query values that may be secret.
    All of them are remembered.

    >>> without_secrets("https://me:pass@host/v1/sk-abcd1234/chat?api-version=2&api-key=abcd1234")
    'https://[redacted]@host/v1/[redacted]/chat?api-version=2&api-key=[redacted]'
    """
    parts = urlsplit(address)
    for secret in (parts.username, parts.password):
        remember(secret or "")
    path = parts.path.split("/")
    for number, (before, part) in enumerate(pairwise(["", *path])):
        if part and (is_secret(before) or _is_key(unquote(part))):
            remember(unquote(part))
            path[number] = MASK
    _, at, host = parts.netloc.rpartition("@")
    query = parse_qsl(parts.query, keep_blank_values=True)
    shown = parts._replace(
        netloc=f"{MASK}@{host}" if at else host,
        path="/".join(path),
        query="&".join(f"{name}={hidden(name, value)}" for name, value in query),
    )
    return urlunsplit(shown)


def _is_key(word: str) -> bool:
    """True if a word looks like a key: it has a key's prefix, or a part too long for a name."""
    pieces = [piece for piece in re.split(r"[^A-Za-z0-9]+", word) if piece]
    if len(pieces) > 1 and pieces[0].lower() in _PREFIXES and re.search(r"\d", word):
        return True
    for piece in pieces:
        longest = _LONGEST_WORD if piece.isalpha() else _LONGEST_NAME
        if len(piece) > longest and not piece.isdecimal():  # digits alone are no key
            return True
    return False


_LONGEST_WORD = 24
"""Letters of the longest word that is no key."""
_LONGEST_NAME = 11
"""Characters of the longest name with digits that is no key."""


# Cached, as it is used for every record and call, and reading the environment is slow.
@lru_cache(maxsize=1)
def _secret_forms() -> tuple[str, ...]:
    """Return all secrets in plain and escaped form, longest first: replacing a shorter one first
    could leave a part of a longer one."""
    values = [os.environ[name] for name in os.environ if is_secret(name)]
    forms = set[str]()
    for secret in {v for v in values if len(v) >= _MIN_VARIABLE_LENGTH} | _registered:
        in_json = json.dumps(secret, ensure_ascii=False)[1:-1]
        forms |= {secret, in_json, quote(secret, "")}
    return tuple(sorted(forms, key=len, reverse=True))
