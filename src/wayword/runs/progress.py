"""What a run that is going on tells of itself: ``.progress.json`` in its folder.

Viewers read it to show episodes as they move. It is written whole, at most twice a second, and
holds nothing that the run folder would not: a run can be resumed, scored and read without it.

    {"process": 4711, "done": 3, "total": 20, "over": false,
     "episodes": [{"id": "5593_0", "step": 4, "of": 15, "actor": "agent", "action": "goto[…]",
                   "ok": true, "pose": {…},
                   "moves": [{"actor": …, "action": …, "ok": …, "pose": …}]}]}
"""

from __future__ import annotations

import json
import os
import time
from collections import deque
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from wayword.core.action import Rejection
from wayword.core.trajectory import Step
from wayword.runs.codec import plain

NAME = ".progress.json"
_EVERY = 0.5
"""Seconds between two writings, at least."""
_MOST = 64
"""Episodes under way that are told of."""
_LONG = 200
_TRAIL = 400
"""Moves that are told of: about 60 kB at each writing."""


class Moves:
    """Where the episodes under way stand. ``trail`` moves of them are told of, shared by all."""

    def __init__(self, max_steps: int, trail: int = _TRAIL) -> None:
        self._most, self._trail = max_steps, trail
        self._counts: dict[str, int] = {}
        self._trails: dict[str, deque[Step]] = {}

    def stepped(self, episode: str, step: Step) -> None:
        """An episode has moved. Most of its steps are never told of, so little is done here."""
        self._counts[episode] = self._counts.get(episode, 0) + 1
        self._trails.setdefault(episode, deque(maxlen=self._trail)).append(step)

    def ended(self, episode: str) -> None:
        """An episode is over."""
        self._counts.pop(episode, None)
        self._trails.pop(episode, None)

    def now(self) -> list[dict[str, Any]]:
        """The first of them, each with its latest moves."""
        told = list(islice(self._trails.items(), _MOST))
        each = max(1, self._trail // max(1, len(told)))
        found = []
        for episode, trail in told:
            moves = [_move(step) for step in list(trail)[-each:]]
            place = {"id": episode, "step": self._counts[episode], "of": self._most}
            found.append({**place, **moves[-1], "moves": moves})
        return found


def _move(step: Step) -> dict[str, Any]:
    decision = step.decision
    said = f"rejected: {decision.kind}" if isinstance(decision, Rejection) else decision.action
    return {
        "actor": step.actor,
        "action": str(said)[:_LONG],
        "ok": step.feedback.ok,
        "pose": plain(step.pose),
    }


class Reporter:
    """Keeps the file up to date. A folder that cannot be written costs the viewer its news only."""

    def __init__(self, run: Path, total: int, max_steps: int) -> None:
        self._path, self._total = run / NAME, total
        self._moves = Moves(max_steps)
        self._written = 0.0
        self._elsewhere: dict[str, Any] = {}

    def stepped(self, episode: str, step: Step, done: int) -> None:
        """An episode has moved."""
        self._moves.stepped(episode, step)
        self._write(done)

    def ended(self, episode: str, done: int) -> None:
        """An episode is over."""
        self._moves.ended(episode)
        self._write(done)

    def told(self, done: int, moves: list[dict[str, Any]], workers: list[str]) -> None:
        """What the processes that play (``machine:number``) tell, until they tell more."""
        self._elsewhere = {"episodes": moves[:_MOST], "workers": workers}
        self._write(done)

    def over(self, done: int) -> None:
        """The run is over: what it says last."""
        self._written = 0.0
        self._elsewhere = {"episodes": []}
        self._write(done, over=True)

    def _write(self, done: int, over: bool = False) -> None:
        now = time.monotonic()
        if now - self._written < _EVERY:
            return
        self._written = now
        told = {
            "process": os.getpid(),
            "done": done,
            "total": self._total,
            "over": over,
            **(self._elsewhere or {"episodes": self._moves.now()}),
        }
        beside = self._path.with_name(f"{NAME}.new")
        with suppress(OSError, TypeError, ValueError):
            beside.write_text(json.dumps(told), encoding="utf-8")
            os.replace(beside, self._path)
