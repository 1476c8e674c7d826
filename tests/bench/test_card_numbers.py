"""Numbers of a card from another person: ``true`` is none, wherever it stands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wayword.bench
from wayword.bench import scorecard
from wayword.core.errors import WaywordError

CARDS = sorted((Path(wayword.bench.__file__).parent / "cards").glob("*/card.json"))


def numbers(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all numbers in a value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from numbers(inner, (*path, key))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from numbers(inner, (*path, at))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path


def test_true_passes_for_no_number_of_a_card(tmp_path: Path) -> None:
    kinds = set()
    for card in CARDS:
        original = card.read_text(encoding="utf-8")
        for path in numbers(json.loads(original)):
            kind = tuple("*" if isinstance(part, int) else part for part in path)
            # One number of each kind; what a player sets may be true.
            if kind in kinds or kind[0] == "settings":
                continue
            kinds.add(kind)
            changed = json.loads(original)
            holder = changed
            for part in path[:-1]:
                holder = holder[part]
            holder[path[-1]] = True
            file = tmp_path / "card.json"
            file.write_text(json.dumps(changed), encoding="utf-8")
            with pytest.raises(WaywordError):
                scorecard.read_stored(file)
    assert len(kinds) > 20
