"""Check the start of an episode: required fields, and misspelled ones.

    check_start(episode, ("viewpoint",), ("heading",))

A dataset of a user's may write any field; one with the default of a misspelled one would be played
in silence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from typing import Any

from wayword.core.episode import Episode
from wayword.core.errors import DataError
from wayword.core.visible import join_words

_ALIKE = 0.7
"""Least similarity of a misspelled name: ``head`` is ``heading``, ``seed`` is not ``scene``."""


_DEGREES = {"heading", "horizon"}


def check_start(
    episode: Episode, required: Sequence[str], optional: Sequence[str] = ()
) -> None:
    """Raise ``DataError`` if an episode's start lacks a required field, or has a misspelled one."""
    where = f"episode {episode.id}"
    check_fields(where, "field 'start'", episode.start, required, optional)


def check_fields(
    source: str,
    where: str,
    fields: Any,
    required: Sequence[str],
    optional: Sequence[str] = (),
) -> None:
    """Raise ``DataError`` if fields of an episode are missing or misspelled.

    A field with another name is an episode's own, unless it resembles one that is missing: the
    default of that one would be used in silence.
    """
    form = f"must have {join_words(required)}"
    if optional:
        form += f", and may have {join_words(optional)}"
    if not isinstance(fields, Mapping):
        raise DataError(source, where, f"{form}, got {fields!r:.60}")
    missing = [name for name in (*required, *optional) if name not in fields]
    for key in fields:
        if key in required or key in optional:
            continue
        if near := get_close_matches(str(key).lower(), missing, 1, _ALIKE):
            raise DataError(source, where, f"has {key!r}; did you mean {near[0]!r}?")
    for name in _DEGREES & {*fields}:
        value = fields[name]
        # Recorded starts may hold numbers as text.
        with suppress(TypeError, ValueError):
            if math.isfinite(float(value)):
                continue
        raise DataError(
            source, where, f"{name!r} must be a number of degrees, got {value!r:.60}"
        )
    if lacking := [name for name in missing if name in required]:
        raise DataError(source, where, f"has no {lacking[0]!r}; it {form}")
