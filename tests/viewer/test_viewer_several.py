"""Pages of runs with several actors: who was told what, who said what."""

from __future__ import annotations

import re
from pathlib import Path

from helpers.parsed_page import Page, check_safe
from wayword import viewer
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder
from wayword.runs.running import run


def test_a_page_shows_what_each_actor_alone_was_shown_and_what_they_stated(
    tmp_path: Path,
) -> None:
    walked = run(Plan("team", "ma_household", limit=2, out=tmp_path / "pair")).path
    index = viewer.write(walked)
    for record in RunFolder.read(walked).records():
        page = Page.read(index.parent / "episodes" / f"{record.episode_id}.html")
        check_safe(page)
        (given, *_) = [
            each.text
            for each in page.all("div", class_="private")
            if "alone" in each.text
        ]
        assert given.startswith("commander alone: "), "the goal stands in the open"
        assert "Only you know this task." in page.text
        assert "Please " in page.text
        assert "Done." in page.text
        assert len(page.all("polyline", class_="curve")) == 1
        better = [each.text for each in page.all("span", class_="better")]
        assert re.match(r"(\d+) of \1 goal conditions met", better[-1])
