"""Long sweeps: a sample of them in ``make test``, all of it with ``WAYWORD_CHAOS=long``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

LONG = os.environ.get("WAYWORD_CHAOS") == "long"


def some(items: Sequence[T], every: int) -> Sequence[T]:
    """Every so many of the items; all of them in the long form."""
    return items if LONG else items[::every]
