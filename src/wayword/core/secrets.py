"""Secrets: whatever leaves the process passes through ``redacted`` first.

A server's refusal may quote the key that it was sent, and a message is copied to many places: the
screen, ``failures.jsonl.gz``, pages, the answer cache.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from functools import lru_cache
from urllib.parse import parse_qsl, quote, urlsplit, urlunsplit

MASK = "[redacted]"

ENDINGS = ("KEY", "TOKEN", "SECRET", "PASSWORD")
"""Names of environment variables, and of fields, that end like this hold secrets."""
_ALL_ENDINGS = (*ENDINGS, "AUTHORIZATION")

_LEAST_IN_ENVIRONMENT = 8
"""A shorter value of an environment variable may be an ordinary word: ``SORT_KEY=name``."""
_LEAST = 4
"""Characters below which a remembered word is no secret."""

_remembered: set[str] = set()


def remember(secret: str) -> None:
    """From now on ``redacted`` knows this one too, wherever it came from.

    A short word is no secret: local servers are given keys such as ``none``, and to take that out
    of every text would break the pages and records in which it stands.
    """
    word = len(secret) < _LEAST_IN_ENVIRONMENT and secret.isalpha()
    if len(secret) >= _LEAST and not word:
        _remembered.add(secret)


@lru_cache(maxsize=4096)  # asked for every variable of the environment at every record
def is_secret(name: str) -> bool:
    """Whether a variable, field or header of this name holds a secret.

    >>> is_secret("OPENAI_API_KEY"), is_secret("x-api-key"), is_secret("max_tokens")
    (True, True, False)
    """
    return name.upper().endswith(_ALL_ENDINGS)


def redacted(text: str) -> str:
    """The text with every known secret replaced by ``[redacted]``.

    Known are the environment's secrets and those that were ``remember``-ed, as they are and as
    they stand inside JSON and addresses.
    """
    for secret in _known(os.environ):
        if secret in text:
            text = text.replace(secret, MASK)
    return text


def without_secrets(address: str) -> str:
    """An address without the user, password and secret query values in it, all remembered.

    >>> without_secrets("https://me:pass@host/v1?api-version=2&api-key=abcd1234")
    'https://[redacted]@host/v1?api-version=2&api-key=[redacted]'
    """
    parts = urlsplit(address)
    query = parse_qsl(parts.query, keep_blank_values=True)
    for secret in (parts.username, parts.password, *(v for k, v in query if is_secret(k))):
        remember(secret or "")
    _, at, host = parts.netloc.rpartition("@")
    shown = "&".join(f"{k}={MASK if is_secret(k) else v}" for k, v in query)
    return urlunsplit(parts._replace(netloc=f"{MASK}@{host}" if at else host, query=shown))


def _known(environment: Mapping[str, str]) -> Iterator[str]:
    """Longest first, so that a secret inside another one does not leave half of it standing."""
    values = {environment[name] for name in environment if is_secret(name)}  # few are read
    every = {value for value in values if len(value) >= _LEAST_IN_ENVIRONMENT} | _remembered
    forms = {form for secret in every for form in (secret, _in_json(secret), quote(secret, ""))}
    yield from sorted(forms, key=len, reverse=True)


def _in_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]
