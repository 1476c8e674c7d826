"""Rules of tasks in words: ``rules/NAME.txt``."""

from __future__ import annotations

from functools import cache
from importlib import resources


@cache
def read_rules(name: str) -> str:
    """Return the rules of a task in words; empty if it has none."""
    text = resources.files("wayword.datasets") / "rules" / f"{name}.txt"
    return text.read_text(encoding="utf-8").strip() if text.is_file() else ""
