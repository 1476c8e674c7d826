"""Definitions of metrics and causes of failure, as ``metrics.toml`` next to this module."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any

from wayword.core.metric import Metric


def defined(section: str) -> tuple[Metric, ...]:
    """Return the metrics of a section, in the order of columns."""
    return tuple(
        Metric(key, label, kind, better or None, doc)
        for key, (label, kind, better, doc) in rows_of(section)
    )


def rows_of(section: str) -> list[tuple[str, Any]]:
    """Return the rows of a section by their keys."""
    return [*_sections()[section].items()]


@cache
def _sections() -> dict[str, Any]:
    text = (resources.files(__package__) / "metrics.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
