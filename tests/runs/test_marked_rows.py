"""Rows say where prompts were cut and advice was lost: in tables, their JSON, and on pages."""

from __future__ import annotations

import json
from pathlib import Path

from wayword import viewer
from wayword.metrics.summary import marks
from wayword.metrics.table import render
from wayword.runs import Plan, run
from wayword.runs.reports import rows_of


def test_a_row_says_that_prompts_lack_their_oldest_steps(tmp_path: Path) -> None:
    tree = {"dataset": {"homes": 1, "rooms": 2}, "context": 1400, "max_tokens": 60}
    out = tmp_path / "run"
    run(Plan("act", "household", "scripted:first", tree, limit=2, max_steps=9, out=out))
    rows = rows_of([out])
    mark = "in 2 of 2 episodes prompts lack their oldest steps"
    assert rows[0].caveats == (mark,)
    assert rows[0].values["steps_forgotten"].mean > 0
    assert mark in " ".join(render(rows).split())
    assert mark in json.dumps(json.loads(render(rows, "json")))
    assert mark in viewer.write(out).read_text()


def test_a_row_says_that_prompts_lack_solved_examples(tmp_path: Path) -> None:
    tree = {"dataset": {"towns": 1, "episodes": 4}, "shots": 2, "context": 600}
    out = tmp_path / "run"
    run(Plan("velma", "towns", "scripted:first", tree, limit=2, max_steps=3, out=out))
    rows = rows_of([out])
    mark = "in 2 of 2 episodes prompts lack solved examples"
    assert mark in rows[0].caveats
    assert mark in " ".join(render(rows).split())
    assert mark in viewer.write(out).read_text()


def test_lost_advice_marks_a_row_above_a_tenth_of_the_questions() -> None:
    assert marks([{"calls": 20.0, "advice_lost": 2.0}]) == ()
    told = marks([{"calls": 10.0, "advice_lost": 6.0}, {"calls": 10.0, "advice_lost": 0.0}])
    assert told == ("6 of 20 questions were to experts whose advice was lost",)
