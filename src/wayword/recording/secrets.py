"""No key ever reaches a run folder: a guard over everything written to ``config.json``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from wayword.core.episode import Json
from wayword.core.errors import RecordingError

_ENDINGS = ("KEY", "TOKEN", "SECRET")
_TELLING = 8
"""A secret of so many characters is looked for inside longer values too, such as an address."""


def refuse_secrets(config: Json, environment: Mapping[str, str]) -> None:
    """Raise ``RecordingError`` if a text in ``config`` is, or holds, a secret of the environment.

    Secrets are the values of variables whose names end in KEY, TOKEN or SECRET. The message names
    the field and the variable, never the value.
    """
    secrets = {n: v for n, v in environment.items() if v and n.upper().endswith(_ENDINGS)}
    for field, text in _texts(config, ""):
        for name, secret in secrets.items():
            if text == secret or (len(secret) >= _TELLING and secret in text):
                raise RecordingError(
                    f"config field {field!r} holds the value of ${name}, and a run folder may "
                    "hold no secrets; leave the field out, keys are read from the environment"
                )


def _texts(value: Json, path: str) -> Iterator[tuple[str, str]]:
    """Every text within, keys included, with the path to it."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield f"{path} (a name)".strip(), key
            yield from _texts(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _texts(inner, f"{path}[{at}]")
