"""A person on the bench: places follow each other in the browser, and end in a card."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from wayword.bench import card_text, ladders, page, scorecard
from wayword.cli.app import app
from wayword.core.errors import UsageError
from wayword.runs import run
from wayword.viewer.games import Games, PlayTable

GRID = "grid, length 2: place {} of 8, each played once."


def waiting(table: PlayTable) -> int:
    """The number of the question that waits, once the game has begun."""
    end = time.monotonic() + 20
    while not table.seat("agent").waiting:
        assert time.monotonic() < end, table.problem
        time.sleep(0.005)
    return table.seat("agent").waiting


def stopped(table: PlayTable) -> PlayTable:
    """The game after the person has stopped in it."""
    table.seat("agent").put(waiting(table), "stop")
    end = time.monotonic() + 20
    while not table.ended:
        assert time.monotonic() < end
        time.sleep(0.005)
    return table


def test_each_place_is_played_once_and_the_card_marks_a_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Drawn episodes are compared with the version's in test_levels.py.
    monkeypatch.setattr(ladders, "check_level", lambda *_: None)
    bench = ladders.open_bench()
    entry = ladders.Contender(bench, "human", "", {}, ("grid",), True, out=tmp_path)
    course = partial(ladders.next_place, entry)
    games = Games(lambda folder: None, course=course)

    first = games.advance(course)
    assert first.note.startswith(GRID.format(1))
    assert "no name" in first.note
    assert stopped(first).state == "over", first.problem
    second = games.after(first.name, again=True)
    assert second.note.startswith(GRID.format(2)), "not the same place again"
    waiting(second)
    second.leave()
    while not second.ended:
        time.sleep(0.005)
    third = games.after(second.name, again=False)
    assert third.note.startswith(GRID.format(2)), "one that was left is offered again"
    assert stopped(third).game.episode != first.game.episode

    card = scorecard.make_card(tmp_path, entry.header())
    level = card["tracks"]["grid"]["levels"][0]
    assert (level["episodes"], level["solved"]) == (2, 0)
    text = card_text.render(card)
    assert "human (a person) on bench 2026.2, quick" in text
    assert " s a step" in text
    assert "4 not played yet" in text, "the ladder has not ended"
    assert "at least 6" in text
    assert "(a person)" in page._card_page(card, {})


def test_the_next_level_follows_the_rules_of_the_ladder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = ladders.open_bench()
    entry = ladders.Contender(bench, "human", "", {}, ("grid",), True, out=tmp_path)
    played: dict[Path, list[bool]] = {}

    def next_length() -> int | None:
        found = ladders.next_level(entry)
        return found and found[1]

    def results(path: Path, track: object) -> list[tuple[str, bool, dict[str, float]]]:
        return [(str(n), won, {}) for n, won in enumerate(played.get(path, []))]

    def play(won: bool, episodes: int = 8) -> None:
        found = ladders.next_level(entry)
        played[found[2].out] = [won] * episodes

    monkeypatch.setattr(ladders, "results", results)
    monkeypatch.setattr(ladders, "is_run", lambda path: True)
    assert next_length() == 2
    play(won=True, episodes=7)
    assert next_length() == 2, "a place is left"
    play(won=False)
    assert next_length() == 4
    play(won=False)
    assert next_length() is None, "two levels without success end the ladder"


def test_one_who_leaves_the_terminal_is_shown_no_further_level(tmp_path: Path) -> None:
    out = tmp_path / "me"
    arguments = ["bench", "--agent", "human", "--quick", "--tracks", "grid"]
    result = CliRunner().invoke(app, [*arguments, "--out", str(out)], input="")
    assert "--browser serves them as pages" in result.output
    assert isinstance(result.exception, UsageError)
    assert "no episode of the bench is finished yet" in str(result.exception)
    assert [path.name for path in sorted((out / "grid").iterdir())] == ["002"]


def test_the_browser_is_for_people(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["bench", "--agent", "random", "--browser"])
    assert "--browser is for a person" in str(result.exception)


def test_a_card_says_what_its_player_was_trained_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ladders, "check_level", lambda *_: None)
    bench = ladders.open_bench()
    entry = ladders.Contender(
        bench, "walker", "regression:walker", {}, ("follow",), True, out=tmp_path
    )
    found = ladders.next_level(entry)
    assert found is not None
    run(replace(found[2], limit=1))
    card = scorecard.make_card(tmp_path, entry.header())
    note = "Note: regression:walker is trained on houses:train."
    assert card_text.player_note(card) == note
    assert note in page._card_page(card, {})
    for form in ("rich", "markdown"):
        assert note in card_text.render(card, form)
