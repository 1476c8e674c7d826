"""What notebooks show: pages in frames, which hold whatever a folder holds as text."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

from helpers.parsed_page import Page, check_safe
from helpers.recorded_run import make_run
from wayword.core.rollout import Outcome
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder
from wayword.runs.results import RunResult
from wayword.runs.running import run


def framed(shown: object) -> Page:
    """The page in the one frame that is shown."""
    text = shown._repr_html_()  # type: ignore[attr-defined]
    match = re.fullmatch(
        r'<iframe srcdoc="([^"]*)" sandbox="allow-scripts"[^<>]*></iframe>', text
    )
    assert match, text[:300]
    page = Page.parse(html.unescape(match[1]))
    check_safe(page)
    return page


def test_a_run_a_record_and_a_trajectory_show_themselves(tmp_path: Path) -> None:
    result = run(Plan("oracle", "houses", limit=2, out=tmp_path / "walks"))
    assert len(framed(result).data["rows"]) == 2
    first, _ = RunFolder.read(result.path).records()
    shown = framed(first.trajectory)
    assert len(shown.all("section", class_="step")) == len(first.trajectory.steps)
    assert shown.all("svg", class_="map")
    assert first.episode_id in framed(first).text


def test_what_a_folder_holds_is_text_and_a_lost_folder_is_a_line(
    tmp_path: Path,
) -> None:
    path = make_run(tmp_path / "odd", ("<script>alert(1)</script>",))
    (record,) = RunFolder.read(path).records()
    assert "<script>alert(1)</script>" in framed(record).text
    framed(RunResult(path, Outcome(), 0))
    gone = RunResult(tmp_path / "<b>none", Outcome(), 0)._repr_html_()
    assert gone.startswith("<p>")
    assert "<b>" not in gone


@pytest.mark.parametrize("item", [3, "<b>"])
def test_anything_else_is_its_text(item: object) -> None:
    from wayword.core.registry import render_html

    assert render_html(item) == f"<pre>{html.escape(repr(item), quote=True)}</pre>"
