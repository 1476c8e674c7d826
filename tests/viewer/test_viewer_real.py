"""Pages of runs on published data: the gold path and the graph around it are on the map."""

from __future__ import annotations

from pathlib import Path

import pytest
from parsed_page import Page, check_safe

from wayword import viewer
from wayword.experiment import Plan, run


@pytest.mark.real
def test_an_r2r_walk_is_drawn_on_its_scan(data: Path, tmp_path: Path) -> None:
    done = run(Plan("oracle", "r2r:val_seen", limit=2, data=data, out=tmp_path / "run"))
    index = viewer.write(done.path, data=data)
    for row in Page.read(index).data["rows"]:
        assert len(row[1].split()) > 5
        page = Page.read(index.parent / "episodes" / row[2])
        check_safe(page)
        assert len(page.all("polyline", class_="gold")) == 1
        assert len(page.all("line", class_="edge")) > 10
        assert "success" in page.text
    bare = viewer.write_pages(done.path, tmp_path / "bare", data=tmp_path)
    assert "left out" in bare.notice
    assert "holds no r2r/annotations" in bare.notice
