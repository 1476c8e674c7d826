"""The chaos suite: a short form in every test run, the long one by ``make chaos``."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest


@pytest.fixture(scope="session")
def rounds() -> Callable[[int, int], int]:
    """``rounds(short, long)``: how often, by ``$WAYWORD_CHAOS`` (``long``, or nothing)."""
    long = os.environ.get("WAYWORD_CHAOS") == "long"
    return lambda few, many: many if long else few


@pytest.fixture
def count(record_property: Callable[[str, object], None]) -> Callable[[str, int], None]:
    """Tells what was done, for the counts in docs/reliability.md (shown with ``-s``)."""

    def tell(what: str, number: int) -> None:
        record_property(what, number)
        print(f"chaos: {number:,} {what}")  # noqa: T201

    return tell
