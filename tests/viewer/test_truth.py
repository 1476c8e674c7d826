"""A table of truth: what pages say of episodes of each kind, and the same by brute force from the
record and the world (``helpers.truth``): cause and flagged step, steps needed and left, messages,
blocked routes, counts, and how solved ones ended.

``WAYWORD_TRUTH=40`` checks 40 episodes of each kind instead of two, also of the published datasets
that ``WAYWORD_DATA`` has: ``pytest -s --timeout 0`` prints the table, in about an hour.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from helpers.truth import blockers, truth, untrue
from wayword.runs.plan import Plan
from wayword.runs.running import run
from wayword.viewer.content import Content
from wayword.viewer.library import Library

_EPISODES = int(os.environ.get("WAYWORD_TRUTH", "2"))
# A detector looks at every step of these, so two episodes take longer than all other kinds.
_SLOW = frozenset()
if "WAYWORD_TRUTH" not in os.environ:
    _SLOW = frozenset({"apartments, frontier", "robothor"})
PLANS = {
    "houses": Plan("random", "houses"),
    "houses, cut off": Plan("random", "houses", max_steps=5),
    "towns": Plan("random", "towns", max_steps=24),
    "towns, their own limit": Plan("random", "towns"),
    "two_phase": Plan("random", "two_phase"),
    "grounding": Plan("random", "grounding", max_steps=20),
    "household": Plan("random", "household", max_steps=16),
    "rearrangement": Plan("random", "rearrangement", max_steps=12),
    "iqa": Plan("random", "iqa", max_steps=10),
    "apartments": Plan("random", "apartments", max_steps=12),
    "apartments, frontier": Plan("frontier", "apartments"),
    "ma_household": Plan("random", "ma_household", max_steps=8),
    "ma_wah": Plan("random", "ma_wah", max_steps=8),
    "houses, circles": Plan("navgpt", "houses", "scripted:first", max_steps=15),
    "houses, cut off near the goal": Plan("oracle", "houses", max_steps=5),
    "grounding, blocked": Plan("react", "grounding", "scripted:first", max_steps=20),
    "household, cut off": Plan("expert", "household", max_steps=15),
    "rearrangement, solved": Plan("expert", "rearrangement"),
    "iqa, solved": Plan("expert", "iqa"),
    "ma_household, a team": Plan("team", "ma_household", max_steps=20),
    "ma_wah, a team": Plan("team", "ma_wah", max_steps=16),
}
PUBLISHED = {
    "r2r": Plan("random", "r2r:val_seen"),
    "reverie": Plan("random", "reverie:val_seen"),
    "map2seq": Plan("random", "map2seq:unseen_dev"),
    "touchdown": Plan("random", "touchdown:unseen_dev"),
    "robothor": Plan("frontier", "robothor"),
}


def differences(plan: Plan, top: Path, data: Path | None = None) -> list[str]:
    """Play episodes until enough have failed, and compare all pages with the truth."""
    library = Library([top])
    content = Content(library, data)
    found = []
    checked: list[str] = []
    for times in (1, 2, 3):
        run(replace(plan, limit=times * _EPISODES, out=top / "run", data=data))
        rows = library.rows("run")
        checked = rows.unsolved()[:_EPISODES]
        if len(checked) == _EPISODES:
            break
    solved = [name for name in rows.names() if name not in rows.unsolved()]
    for name in (*checked, *solved[:_EPISODES]):
        record = rows.run.record(name)
        sources = content.tasks(rows, [name])
        assert sources.dataset is not None
        document = json.loads(content.document("run", name))
        walk = record.trajectory
        task = sources.tasks[name]
        wrong = untrue(document, walk, sources.dataset, task, rows.limit)
        if mistake := document["mistake"]:
            flagged = 0 if mistake["limit"] else mistake["lost"]
            right = truth(walk, sources.dataset, task, rows.limit)
            if (mistake["cause"], flagged) != right:
                wrong.append(f"page {mistake['cause'], flagged}, truth {right}")
            wrong += blockers(document, walk, task)
        found += [f"{name}: {each}" for each in wrong]
    assert checked or solved, "an episode was judged"
    count = f"{len(checked)} failed, {len(solved[:_EPISODES])} solved"
    row = f"{plan.agent} on {plan.on}: {count}, {len(found)} differ"
    sys.stdout.write(f"\n{row}\n")
    return found


@pytest.mark.parametrize("kind", [kind for kind in PLANS if kind not in _SLOW])
def test_pages_of_generated_episodes_are_true(kind: str, tmp_path: Path) -> None:
    assert differences(PLANS[kind], tmp_path) == []


@pytest.mark.real
@pytest.mark.parametrize("kind", [kind for kind in PUBLISHED if kind not in _SLOW])
def test_pages_of_published_episodes_are_true(
    kind: str, data: Path, tmp_path: Path
) -> None:
    assert differences(PUBLISHED[kind], tmp_path, data) == []
