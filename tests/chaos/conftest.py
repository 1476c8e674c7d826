"""The chaos suite: a short form in every test run, the long one by ``make chaos``."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from helpers.sampling import LONG


@pytest.fixture(scope="session")
def rounds() -> Callable[[int, int], int]:
    """``rounds(short, long)``: how often, by ``$WAYWORD_CHAOS`` (``long``, or nothing)."""
    return lambda few, many: many if LONG else few


@pytest.fixture
def count(record_property: Callable[[str, object], None]) -> Callable[[str, int], None]:
    """Tells what was done, for the counts in docs/reliability.md (shown with ``-s``)."""

    def tell(what: str, number: int) -> None:
        record_property(what, number)
        print(f"chaos: {number:,} {what}")  # noqa: T201

    return tell
