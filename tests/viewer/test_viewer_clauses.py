"""The instruction that stays in view: its clauses, and which of them each step follows."""

from __future__ import annotations

from typing import Any

import pytest

from helpers.parsed_page import Page, check_safe
from helpers.recorded_run import SCORES, recorded_trajectory
from helpers.shown import episode_page
from wayword.core.errors import RecordingError
from wayword.core.trajectory import CLAUSES, FOLLOWED, Note, Trajectory
from wayword.runs.codec import from_json, to_json
from wayword.runs.record import EpisodeRecord
from wayword.viewer.clauses import Clauses, Followed
from wayword.viewer.data import Sources
from wayword.viewer.episode import Links

INSTRUCTION = "Go  ahead,\nthen turn right. Stop."
TEXTS = ("Go ahead", "turn right", "Stop")
BEGINS = (0, 15, 27)


def walk(texts: Any = TEXTS, begins: Any = BEGINS, *steps: Any) -> Trajectory:
    """Three steps that note these clauses, and which of them they follow."""
    trajectory = recorded_trajectory("one")
    trajectory.opening_notes = [Note(CLAUSES, {"texts": texts, "begins": begins})]
    for step, details in zip(trajectory.steps, steps, strict=False):
        step.notes = [Note(FOLLOWED, details)] if details else []
    return trajectory


def shown(trajectory: Trajectory) -> Page:
    return Page.parse(
        episode_page(
            EpisodeRecord("one", SCORES, trajectory), (), Sources(), "run", Links()
        )
    )


def test_the_instruction_is_cut_where_its_clauses_begin() -> None:
    assert Clauses(TEXTS, BEGINS).cut(INSTRUCTION) == [
        ("Go  ahead,\nthen ", (1,)),
        ("turn right. ", (2,)),
        ("Stop.", (3,)),
    ]
    assert Clauses(("Go", "stop"), (0, 0)).cut("Go. ") == [("Go. ", (1, 2))], (
        "one place for both"
    )
    assert Clauses(TEXTS, (0, 15, 99)).cut(INSTRUCTION) == [(INSTRUCTION, ())], (
        "not its words"
    )


def test_each_step_has_the_clause_it_noted_or_else_the_one_before() -> None:
    first = {"number": 1, "done": []}
    third = {"number": 3, "done": [1, 2]}
    read = from_json(to_json(walk(TEXTS, BEGINS, first, None, third)))
    clauses = Clauses.of(read)
    assert clauses.steps == (Followed(1), Followed(1), Followed(3, (1, 2)))
    assert clauses.at(0) == clauses.at(4) == Followed()
    starts = [clauses.starts(number) for number in (1, 2, 3)]
    assert starts == [1, 0, 3], "where one begins"


def test_a_step_may_say_that_it_does_not_say() -> None:
    trajectory = walk(TEXTS, [], {"number": 1}, {"number": 0}, {"number": 2})
    assert [each.number for each in Clauses.of(trajectory).steps] == [1, 0, 2]


def test_the_page_marks_what_its_script_moves() -> None:
    page = shown(
        walk(TEXTS, BEGINS, {"number": 1, "done": []}, {"number": 2, "done": [1]})
    )
    check_safe(page)
    cards = page.all("section", class_="step")
    assert [card.attributes["data-clause"] for card in cards] == ["1", "2", "2"]
    assert [card.attributes["data-done"] for card in cards] == ["", "1", "1"]
    assert "clause 2 of 3" in page.text
    listed = page.all("li", class_="clause")
    assert [each.attributes["data-clauses"] for each in listed] == ["1", "2", "3"]
    assert "Notes" not in page.text, "the instruction shows them"


def test_parts_that_the_agent_was_given_are_listed_without_a_mark() -> None:
    page = shown(walk(["go ahead", "stop"], []))
    assert len(page.all("li", class_="clause")) == 2
    assert "does not report which one it follows" in page.text
    assert not page.all("span", class_="clause")
    assert not shown(walk(["the whole instruction"], [])).all("li", class_="clause")


@pytest.mark.parametrize(
    ("texts", "begins", "followed"),
    [
        ("Go", [0], {"number": 1}),
        (3, None, None),
        (TEXTS, "012", {"number": "1", "done": 3}),
        (["</p><script>", {"a": 1}], [2, 1], {"number": 9, "done": [1.5, None, -1]}),
        (TEXTS, [True, 1, 2], {"number": None}),
    ],
)
def test_notes_of_another_form_do_nothing(
    texts: Any, begins: Any, followed: Any
) -> None:
    trajectory = walk(texts, begins, followed)
    assert not Clauses.of(trajectory).followed
    check_safe(shown(trajectory))


def test_a_note_without_a_mapping_is_refused_where_the_record_is_read() -> None:
    record = to_json(walk(TEXTS, BEGINS, {"number": 1}))
    record["steps"][0]["notes"][0]["details"] = ["number", 1]
    with pytest.raises(RecordingError, match="another type"):
        from_json(record)
