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
    tree = {"dataset": {"homes": 1, "rooms": 2}, "context": 800, "max_tokens": 60}
    out = tmp_path / "run"
    run(Plan("act", "household", "scripted:first", tree, limit=2, max_steps=9, out=out))
    rows = rows_of([out])
    mark = "in 2 of 2 episodes, prompts omit their oldest steps to fit the context"
    assert rows[0].caveats == ("a random sample of the split", mark)
    assert rows[0].values["steps_forgotten"].mean > 0
    assert mark in " ".join(render(rows).split())
    assert mark in json.dumps(json.loads(render(rows, "json")))
    assert mark in viewer.write(out).read_text()


def test_a_row_says_that_prompts_lack_solved_examples(tmp_path: Path) -> None:
    tree = {"dataset": {"towns": 1, "episodes": 4}, "shots": 2, "context": 600}
    out = tmp_path / "run"
    run(Plan("velma", "towns", "scripted:first", tree, limit=2, max_steps=3, out=out))
    rows = rows_of([out])
    mark = "in 2 of 2 episodes, prompts omit solved examples to fit the context"
    assert mark in rows[0].caveats
    assert mark in " ".join(render(rows).split())
    assert mark in viewer.write(out).read_text()


def test_what_a_layout_rests_on_stands_next_to_every_figure(tmp_path: Path) -> None:
    """An inferred layout, episodes left out: in the table, its JSON, and on the page."""
    path = run(
        Plan("random", "houses", "", {"steps": 2}, limit=1, out=tmp_path / "r")
    ).path
    config = json.loads((path / "run.json").read_text())
    config |= {"caveats": ["floors inferred from paths"], "left_out": {"no floor": 3}}
    (path / "run.json").write_text(json.dumps(config))
    page = viewer.write(path).read_text()
    for form in ("rich", "markdown", "json"):
        lines = " ".join(render(rows_of([path]), form).split())
        for words in (
            "floors inferred from paths",
            "left out of the split: 3 no floor",
        ):
            assert words in lines, (form, lines)
            assert words in page


def test_lost_advice_marks_a_row_above_a_tenth_of_the_questions() -> None:
    assert marks([{"calls": 20.0, "advice_lost": 2.0}]) == ()
    text = marks(
        [{"calls": 10.0, "advice_lost": 6.0}, {"calls": 10.0, "advice_lost": 0.0}]
    )
    assert text == ("6 of 20 calls to experts gave no usable advice",)
