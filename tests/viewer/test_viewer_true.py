"""Small statements of pages that have to be true: marks, names of rooms, columns, live runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.parsed_page import Page
from wayword.runs.plan import Plan
from wayword.runs.running import run
from wayword.viewer import maps
from wayword.viewer.content import Content
from wayword.viewer.library import PROGRESS, Library
from wayword.viewer.maps.indoor import room_in


@pytest.mark.parametrize(
    ("text", "room"),
    [("a wooden bar stool", ""), ("two bar stools next to the bar", "bar"),
     ("a pool table in the lounge", "lounge"), ("toilet paper", ""), ("a hotel bar", "bar"),
     ("an office chair and a bed in a bedroom", "bedroom")],
)  # fmt: skip
def test_a_room_is_not_read_from_the_name_of_an_object(text: str, room: str) -> None:
    assert room_in(text) == room


@pytest.mark.parametrize(("unit", "merged"), [("m", True), ("squares", False)])
def test_on_a_grid_the_start_is_marked_on_its_own_square(
    unit: str, merged: bool
) -> None:
    """In metres, a walk that ended next to its start has one marker for both."""
    ends = [maps.Waypoint(n, "", (0.3 * n, 0.0), None) for n in range(2)]
    drawn = maps.Map({"agent": ends}, unit=unit, failed=True)
    page = Page.parse(str(maps.render(drawn)))
    stops = page.all("g", class_="stop")
    assert (len(stops) == 1) == merged


def test_an_agent_without_a_model_has_no_columns_of_zeros(tmp_path: Path) -> None:
    run(Plan("random", "houses", limit=2, max_steps=4, out=tmp_path / "run"))
    content = Content(Library([tmp_path / "run"]))
    page = Page.parse(content.run("run"))
    (data,) = [e for e in page.all("script") if e.attributes.get("id") == "data"]
    shown = str(data.text).partition('"shown":[')[2].partition("]")[0]
    assert '"steps"' in shown
    assert "tokens" not in shown
    assert '"cost"' not in shown
    assert "$0.00" in page.text, "a free run costs nothing"


def test_a_run_before_its_first_report_is_followed(tmp_path: Path) -> None:
    run(Plan("random", "houses", limit=2, max_steps=4, out=tmp_path / "run"))
    (tmp_path / "run" / PROGRESS).unlink(missing_ok=True)
    content = Content(Library([tmp_path / "run"]))
    state = content.live_state("run")
    assert isinstance(state, dict)
    assert state["running"]
    assert state["awaited"]
    assert Page.parse(content.run("run")).all("div", class_="live")
