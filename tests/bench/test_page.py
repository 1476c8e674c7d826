"""Pages of cards and the board: curves, escaped texts, and cards that do not verify."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from wayword.bench import card_text, ladders, page, scorecard
from wayword.cli.app import app
from wayword.core.errors import UsageError
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder
from wayword.runs.running import run
from wayword.runs.verify import verify


@pytest.fixture(scope="module")
def cards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cards")
    for name in ("gold", "random"):
        options = [
            "bench",
            "--agent",
            name,
            "--quick",
            "--tracks",
            "follow",
            "--out",
            str(folder / name),
        ]
        assert CliRunner().invoke(app, options, catch_exceptions=False).exit_code == 0
    return folder


def test_a_card_page_has_a_curve_and_links_to_lost_episodes(cards: Path) -> None:
    text = (cards / "random" / page.PAGE).read_text()
    assert text.count("<polyline") == 1
    links = re.findall(r'<a href="([^"]+)"', text)
    assert len(links) == 3
    assert all((cards / "random" / link).is_file() for link in links)
    assert "<a href" not in (cards / "gold" / page.PAGE).read_text()


def test_a_card_page_says_what_to_type_next(cards: Path) -> None:
    text = html.unescape((cards / "random" / page.PAGE).read_text())
    commands = re.findall(r"<dd><code>(.*?)</code>", text)
    assert commands == [command for _, command in card_text.CARD_STEPS]
    for _, command in (*card_text.CARD_STEPS, *card_text.BOARD_STEPS):
        words = command.split()[1:]
        named = [word for word in words if word.isalpha() and word.islower()]
        assert CliRunner().invoke(app, [*named, "--help"]).exit_code == 0, command


def test_a_page_runs_its_own_script_alone_and_escapes_texts(cards: Path) -> None:
    card = scorecard.read_card(cards / "gold")
    text = page._card_page({**card, "model": "<script>alert(1)</script>"}, {})
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)" in text
    (code,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in html.unescape(text)
    assert "http" not in text.replace("http-equiv", "")


def test_a_curve_is_drawn_over_log_length(cards: Path) -> None:
    track = scorecard.read_card(cards / "gold")["tracks"]["follow"]
    drawn = page.curve(track)
    places = [x for x, _ in drawn.marks]
    assert places[1] - places[0] == pytest.approx(places[2] - places[1], abs=0.11)
    assert {y for _, y, _ in drawn.dots} == {8.0}
    assert drawn.h50 is None  # beyond the ladder
    assert page.curve({**track, "h50": [8.0, 4.0, 16.0]}).h50 == places[1]


def test_all_of_a_curve_lies_in_its_picture(cards: Path) -> None:
    for name in ("gold", "random"):
        text = (cards / name / page.PAGE).read_text()
        ((width, height, inside),) = re.findall(
            r'<svg viewBox="0 0 (\d+) (\d+)" class="horizon"(.*?)</svg>',
            text,
            re.DOTALL,
        )
        points = re.findall(r'x="([\d.]+)" y="([\d.]+)"', inside)
        points += re.findall(r"([\d.]+),([\d.]+)", inside)
        assert len(points) > 5
        assert max(float(x) for x, _ in points) <= float(width)
        assert max(float(y) for _, y in points) <= float(height)


@pytest.mark.parametrize("unverified", ["", "a changed record"])
def test_a_rank_within_a_track_is_of_cards_that_verify(
    cards: Path, unverified: str
) -> None:
    rows: list[dict[str, Any]] = []
    for name, doubt in (("random", ""), ("gold", unverified)):
        card = scorecard.read_card(cards / name)
        row = {"card": card, "folder": cards / name, "cells": page._cells(card)}
        rows.append({**row, "unverified": doubt, "rank": 0})
    page._rank(rows)
    ranks = [row["cells"]["follow"]["rank"] for row in rows]
    assert ranks == ([1, 0] if unverified else [2, 1])


def test_a_board_states_horizons_below_the_ladder_alike() -> None:
    rows = {"a": ["< 4", "< 4", 16.0], "b": ["< 2", "< 2", "< 2"]}
    success = [0.0, 0.0, 0.2]
    tracks = {name: {"h50": h50, "success": success} for name, h50 in rows.items()}
    cells = page._cells({"tracks": tracks})
    assert [cell["h50"] for cell in cells.values()] == ["< 4 [< 4, 16]", "< 2"]


def test_horizons_beyond_the_ladder_sort_after_its_last_level() -> None:
    ordered = ["no horizon", "< 4", 4.0, 12.7, 96.0, "> 96"]
    numbers = [page._order(value) for value in ordered]
    assert numbers == sorted(numbers)
    # Below the ladder lengths are not told apart; above, a longer ladder says more.
    assert numbers[1] < numbers[2]
    assert numbers[-2] < numbers[-1] < page._order("> 128")


def test_a_board_sorts_cards_and_shows_those_that_do_not_verify(
    cards: Path, tmp_path: Path
) -> None:
    shutil.copytree(cards, tmp_path / "cards")
    boasting = tmp_path / "cards" / "boasting"
    shutil.copytree(cards / "random", boasting)
    card: dict[str, Any] = json.loads((boasting / ladders.CARD).read_text())
    (boasting / ladders.CARD).write_text(
        json.dumps({**card, "success": [1.0, 1.0, 1.0]})
    )
    alone = tmp_path / "cards" / "alone"
    alone.mkdir()
    shutil.copy(cards / "gold" / ladders.CARD, alone)
    site = tmp_path / "site"
    options = ["bench", "board", str(tmp_path / "cards"), "--out", str(site)]
    result = CliRunner().invoke(app, options, catch_exceptions=False)
    assert result.output.strip() == str(site / "index.html")
    text = (site / "index.html").read_text()
    assert re.findall(r'data-verified="(\w+)"', text) == ["yes", "yes", "no", "no"]
    assert "its numbers are not those of its runs" in text
    assert "its runs are not here" in text
    assert "Unverified" in (site / "card-000.html").read_text()
    with pytest.raises(UsageError, match=r"holds no card\.json"):
        page.write_board(site, tmp_path / "nowhere")


def test_runs_of_other_levels_do_not_verify(cards: Path, tmp_path: Path) -> None:
    shutil.copytree(cards / "gold", tmp_path / "gold")
    follow = tmp_path / "gold" / "follow"
    shutil.rmtree(follow / "016")
    shutil.copytree(follow / "004", follow / "016")
    card = scorecard.make_card(tmp_path / "gold", scorecard.read_card(cards / "gold"))
    scorecard.write_card(tmp_path / "gold", card)
    reason = page.check_card(tmp_path / "gold", card).reason
    assert reason.startswith(
        "follow/016 is not the version's: 'dataset_settings.length'"
    )


@pytest.mark.parametrize(
    ("agent", "on"), [("gold", "apartments"), ("random", "ma_wah")]
)
def test_runs_of_a_search_and_of_two_actors_verify(
    agent: str, on: str, tmp_path: Path
) -> None:
    plan = Plan(agent, on, limit=1, max_steps=20, out=tmp_path / "run")
    run(plan)
    assert [
        difference for _, difference in verify(RunFolder.read(tmp_path / "run"))
    ] == [""]


def test_a_changed_recording_does_not_verify(
    cards: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [("house_1", "step 2: other pose")]
    monkeypatch.setattr("wayword.bench.verify.verify", lambda *_: found)
    card = scorecard.read_card(cards / "gold")
    reason = page.check_card(cards / "gold", card).reason
    assert reason == "follow/004, episode house_1: step 2: other pose"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_no_file_is_written_for_a_card_that_json_cannot_hold(
    value: float, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        scorecard.write_card(tmp_path / "card", {"tracks": {"success": [value]}})
    assert not any(path.is_file() for path in tmp_path.rglob("*"))


def test_a_card_is_of_the_published_schema(cards: Path) -> None:
    text = Path("docs/bench.md").read_text(encoding="utf-8")
    (schema,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    defined = json.loads(schema)
    card = scorecard.read_card(cards / "random")
    track = card["tracks"]["follow"]
    parts = {"track": track, "level": track["levels"][0]}
    for name, value in {"card": card, **parts}.items():
        form = defined["$defs"].get(name, defined)
        assert set(form["required"]) <= set(value) <= set(form["properties"]), name
        for key, each in value.items():
            kind = form["properties"][key].get("type", "array")
            types = {
                "integer": int,
                "string": str,
                "boolean": bool,
                "object": dict,
                "array": list,
            }
            if isinstance(kind, list):
                expected = (int, float, str)
            else:
                expected = types.get(kind, (int, float))
            if each is None:
                assert {"type": "null"} in form["properties"][key]["oneOf"]
                continue
            assert isinstance(each, expected), f"{name}.{key} is {each!r}"
