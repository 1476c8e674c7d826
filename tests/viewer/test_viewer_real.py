"""Pages of runs on published data: the gold path and the graph around it are on the map."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.parsed_page import Page, check_safe
from wayword import viewer
from wayword.runs.plan import Plan
from wayword.runs.running import run


@pytest.mark.real
def test_an_r2r_walk_is_drawn_on_its_scan(data: Path, tmp_path: Path) -> None:
    done = run(Plan("oracle", "r2r:val_seen", limit=2, data=data, out=tmp_path / "run"))
    index = viewer.write(done.path, data=data)
    for row in Page.read(index).data["rows"]:
        assert len(row[1].split()) > 5
        page = Page.read(index.parent / row[2])
        check_safe(page)
        assert len(page.all("polyline", class_="gold")) == 1
        assert len(page.all("line", class_="edge")) > 10
        assert "success" in page.text
    bare = viewer.write_pages(done.path, tmp_path / "bare", data=tmp_path)
    assert "not available" in bare.notice
    assert "contains no r2r/annotations" in bare.notice


@pytest.mark.real
@pytest.mark.parametrize(
    ("agent", "on", "rooms"),
    [("expert", "rearrangement:2021_val", 1), ("team", "ma_wah:logs", 4)],
)
def test_published_houses_are_drawn_as_they_were_at_each_step(
    agent: str, on: str, rooms: int, data: Path, tmp_path: Path
) -> None:
    done = run(Plan(agent, on, limit=1, data=data, out=tmp_path / "run"))
    index = viewer.write(done.path, data=data)
    (row,) = Page.read(index).data["rows"]
    page = Page.read(index.parent / row[2])
    check_safe(page)
    assert len(page.all("path", class_="floor")) >= rooms
    assert len(page.all("rect", class_="furniture")) > 20
    assert len(page.all("path", class_="pose")) == len(
        page.all("section", class_="step")
    )
    assert "as it was at first" not in page.text, "the world repeats what was recorded"
