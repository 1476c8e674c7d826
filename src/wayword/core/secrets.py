"""Secrets: whatever leaves the process passes through ``redacted`` first.

A server's refusal may quote the key that it was sent, and a message is copied to many places: the
screen, ``failures.jsonl.gz``, pages, the answer cache.
"""

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
"""Last word of the names whose values are secret: of environment variables, fields, headers and
query values. Short words must stand alone: ``COMPAT`` is no ``PAT``."""
_HARMLESS = re.compile(
    r"(?:accept|accept-language|alt|anthropic-beta|anthropic-version|api-version|beta|content-type"
    r"|deployment|dialect|format|http-referer|lang|language|location|model|openai-beta"
    r"|openai-organization|openai-project|project|referer|region|stream|timeout|user-agent|v"
    r"|version|x-title)\Z",
    re.IGNORECASE,
)
"""Headers and query values that hold no secret; all others are hidden."""
_PREFIXES = ("sk", "pk", "rk", "hf", "ghp", "gho", "glpat", "pat", "xoxb", "xoxp")
"""First word of keys as their issuers write them."""

_MIN_VARIABLE_LENGTH = 8
"""A shorter value of an environment variable may be an ordinary word: ``SORT_KEY=name``."""
_MIN_LENGTH = 4  # characters below which a remembered word is no secret

_remembered: set[str] = set()


def remember(secret: str) -> None:
    """From now on ``redacted`` replaces this one too, and the environment is read again.

    A short word is no secret: local servers are given keys such as ``none``, and to take that out
    of every text would break the pages and records in which it stands.
    """
    is_word = len(secret) < _MIN_VARIABLE_LENGTH and secret.isalpha()
    if len(secret) >= _MIN_LENGTH and not is_word:
        _remembered.add(secret)
        _secret_forms.cache_clear()


def is_secret(name: str) -> bool:
    """True if a variable, field, header or query value of this name holds a secret.

    >>> is_secret("OPENAI_API_KEY"), is_secret("x-api-key"), is_secret("max_tokens")
    (True, True, False)
    """
    return _SECRET.search(name) is not None


def environment_secrets() -> dict[str, str]:
    """Return the environment's secrets by the names of their variables, read again."""
    _secret_forms.cache_clear()
    return {name: os.environ[name] for name in os.environ if is_secret(name)}  # few are read


def redacted(text: str) -> str:
    """Return the text with every known secret replaced by ``[redacted]``.

    Known are the secrets that the environment held when it was last read (at the start of a run,
    and whenever a secret is remembered) and those that were ``remember``-ed, as they are and as
    they stand inside JSON and addresses.
    """
    for secret in _secret_forms():
        if secret in text:
            text = text.replace(secret, MASK)
    return text


def hidden(name: str, value: str) -> str:
    """The value of a header or query value as it may be shown, what is secret in it remembered.

    A name that is known to be harmless keeps its value. Of a name that says nothing four digits of
    a checksum are shown, so that two servers that differ in it are not taken for one.

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
    """Return an address without user, password, keys in its path and query values that may be
    secret, all remembered.

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
    """True if a word looks like a key: a key's prefix, or a run of characters no name has."""
    pieces = [piece for piece in re.split(r"[^A-Za-z0-9]+", word) if piece]
    if len(pieces) > 1 and pieces[0].lower() in _PREFIXES and re.search(r"\d", word):
        return True
    return any(len(p) > (24 if p.isalpha() else 11) and not p.isdecimal() for p in pieces)


@lru_cache(maxsize=1)  # asked for at every record and call, and reading the environment is slow
def _secret_forms() -> tuple[str, ...]:
    """Longest first, so that a secret inside another one does not leave half of it standing."""
    values = [os.environ[name] for name in os.environ if is_secret(name)]
    known = {value for value in values if len(value) >= _MIN_VARIABLE_LENGTH} | _remembered
    forms = set[str]()
    for secret in known:
        in_json = json.dumps(secret, ensure_ascii=False)[1:-1]
        forms |= {secret, in_json, quote(secret, "")}
    return tuple(sorted(forms, key=len, reverse=True))
