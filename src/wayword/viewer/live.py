"""A run that is going on: what it tells of itself beside the run folder, and who reads that.

The run writes a small file at most twice a second; viewers read it. Nobody who watches is known to
the run, so none can slow it.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wayword.runs.progress import NAME

_STALE = 120.0
"""Seconds without a word after which a run is taken for dead; a slow model may take that long."""


@dataclass(frozen=True, slots=True)
class Progress:
    """``done`` of ``total`` episodes; ``episodes`` are those under way, as the run wrote them."""

    done: int
    total: int
    alive: bool
    episodes: tuple[dict[str, Any], ...]


def progress_of(run: Path) -> Progress | None:
    """What a run last said of itself, or None where it never did. Never raises."""
    path = run / NAME
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        age = time.time() - path.stat().st_mtime
        alive = not told.get("over") and (_running(int(told["process"])) or age < 5)
        alive = alive and age < _STALE * 60
        episodes = tuple(each for each in told.get("episodes", ()) if isinstance(each, dict))
        return Progress(int(told["done"]), int(told["total"]), alive, episodes)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
