"""Every kind of thing that is looked for can be found by looking: none names nothing."""

from __future__ import annotations

from pathlib import Path

from helpers.sampling import LONG
from wayword.datasets.apartments import Apartments
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder
from wayword.runs.running import run

ROOMS = 1
HOMES = 12
# The pictures by which a target is chosen are most of the time: few episodes in the short form.
EPISODES = 90 if LONG else 20


def test_frontier_finds_every_kind_with_a_perfect_detector(tmp_path: Path) -> None:
    """Both splits, one episode of each kind that they draw; a kind that names nothing could never
    be grounded."""
    found: set[str] = set()
    sought: set[str] = set()
    for split in Apartments.splits:
        settings = {"rooms": ROOMS, "homes": HOMES, "episodes": EPISODES}
        homes = Apartments(split, None, Apartments.Settings(**settings))
        kinds: dict[str, list[str]] = {}
        for task in homes.tasks:
            kinds.setdefault(task.episode.extra["kind"], []).append(task.episode.id)
        chosen = {names[0]: kind for kind, names in kinds.items() if kind not in sought}
        # A split may draw no kind of its own.
        if not chosen:
            continue
        sought |= set(chosen.values())
        plan = Plan(
            "frontier",
            f"apartments:{split}",
            settings={"grounding": "perfect", "dataset": settings},
            episodes=tuple(chosen),
            out=tmp_path / split,
        )
        scores = RunFolder.read(run(plan).path).scores()
        found |= {chosen[name] for name, one in scores if one["success_grounded"]}
    assert len(sought) > (30 if LONG else 10)
    assert found == sought
