"""A run that is going on: what it says of itself beside the run folder, and the pages of that.

The run writes a small file at most twice a second; viewers read it. The run knows nothing of who
watches, so nobody who does can slow it. An episode under way has a page with the moves so far on
its map, at the address at which its recorded steps are once it has ended.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wayword.core.action import Action, Decision
from wayword.core.files import process_runs
from wayword.core.trajectory import Step, Trajectory
from wayword.core.world import Feedback
from wayword.runs.active import PROGRESS
from wayword.viewer.data import Sources
from wayword.viewer.library import Rows
from wayword.viewer.maps import generic
from wayword.viewer.maps.generic import letters_of
from wayword.viewer.markup import Html, join, page, tag

_STALE = 120.0
"""Seconds without a word after which a run is taken for dead; a slow model may take that long."""


@dataclass(frozen=True, slots=True)
class Progress:
    """``done`` of ``total`` episodes; ``episodes`` are those under way, as the run wrote them."""

    done: int
    total: int
    alive: bool
    episodes: tuple[dict[str, Any], ...]

    def of(self, episode: str) -> dict[str, Any] | None:
        """What is said of an episode under way, None where it is not."""
        return next((each for each in self.episodes if each.get("id") == episode), None)


def progress_of(run: Path) -> Progress | None:
    """What a run last said of itself, or None where it never did. Never raises."""
    path = run / PROGRESS
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        age = time.time() - path.stat().st_mtime
        alive = not told.get("over") and (process_runs(int(told["process"])) or age < 5)
        alive = alive and age < _STALE * 60
        episodes = tuple(each for each in told.get("episodes", ()) if isinstance(each, dict))
        return Progress(int(told["done"]), int(told["total"]), alive, episodes)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def under_way(rows: Rows, episode: str) -> Mapping[str, Any] | None:
    """What a run that goes on says of an episode that has not ended; None where it says nothing."""
    told = progress_of(rows.run.path)
    return told.of(episode) if told and told.alive else None


def standing(rows: Rows) -> tuple[str, int, int]:
    """``going on``, ``complete`` or ``part``; how many episodes are finished, and of how many."""
    told = progress_of(rows.run.path)
    split = rows.run.config.get("episodes_in_split")
    of = told.total if told else split if isinstance(split, int) else 0
    done = rows.done
    if told and told.alive:
        return "going on", done, of
    return ("complete" if done >= of else "part"), done, of


_SHOWN = 12
"""Latest moves that are listed."""


def moving_page(now: Mapping[str, Any], sources: Sources, run: str) -> str:
    """The document of an episode under way; its script brings the moves up to date."""
    name = str(now.get("id", ""))
    top = tag(
        "nav", tag("a", "‹ ", run, href="./", rel="up", title="all episodes (u)"),
        tag("span", tag("bdi", name), class_="grow"), class_="top",
    )  # fmt: skip
    words = sources.instruction(name)
    head = tag(
        "header", tag("h1", tag("bdi", name)), tag("blockquote", words) if words else None,
        tag("p", tag("b", "going on", class_="badge odd")), class_="head",
    )  # fmt: skip
    main = tag("main", head, moves_part(now, sources), id="moving", data_id=name)
    return page(f"{name} · {run}", join([top, main]), "live", served=True)


def moves_part(now: Mapping[str, Any], sources: Sources) -> Html:
    """The map with the moves so far, and the latest of them in words."""
    moves = [each for each in now.get("moves", ()) if isinstance(each, Mapping)]
    step = now.get("step")
    first = step - len(moves) + 1 if isinstance(step, int) else 1
    lines = [
        tag(
            "li", tag("code", str(move.get("action", ""))), " ",
            tag("span", str(move.get("actor", "")), class_="dim"),
            None if move.get("ok") else tag("b", " refused", class_="odd"),
            value=number,
        )
        for number, move in list(enumerate(moves, first))[: -_SHOWN - 1 : -1]
    ]  # fmt: skip
    told = tag("p", f"Step {step} of {now.get('of')}", class_="lead", id="at")
    walk = _so_far(str(now.get("id", "")), moves)
    drawn = generic.draw(walk, sources)
    part = tag(
        "div", tag("aside", drawn), tag("div", told, tag("ol", *lines, class_="moves")),
        class_="two", id="moves",
    )  # fmt: skip
    return letters_of(sources, walk).over(part)


def _so_far(name: str, moves: list[Mapping[str, Any]]) -> Trajectory:
    """The moves as a trajectory that begins where the first one led."""
    told = [each for each in moves if isinstance(each.get("pose"), Mapping)]
    start: dict[str, Any] = {}
    for each in told:
        start.setdefault(str(each.get("actor", "")), each["pose"])
    steps = [
        Step(
            str(each.get("actor", "")), {}, Decision(Action(str(each.get("action", "")))),
            Feedback("ok" if each.get("ok") else "failed"), each["pose"],
        )
        for each in told
    ]  # fmt: skip
    return Trajectory(name, start, steps)
