"""The board of the published cards in a browser: sortable and filtered, light and dark, narrow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

import wayword.bench
from helpers.in_a_browser import CHROMIUM, chromium, listen, wrong
from wayword.bench import ladders, page

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium on PATH: apt-get install chromium"
)
CARDS = Path(wayword.bench.__file__).parent / "cards"


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> str:
    return page.write_board(CARDS, tmp_path_factory.mktemp("site")).as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.mark.parametrize("wide", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_board_and_card_are_accessible(
    wide: int, scheme: str, board: str, browser: Browser
) -> None:
    # axe is added to the page, which its policy would refuse
    context = browser.new_context(
        viewport={"width": wide, "height": 844}, color_scheme=scheme, bypass_csp=True
    )
    seen = context.new_page()
    seen.goto(board)
    assert wrong(seen) == []
    seen.locator("tbody a").first.click()
    seen.wait_for_selector("svg")
    assert wrong(seen) == []
    context.close()


def test_rows_are_sorted_and_filtered_under_the_policy(
    board: str, browser: Browser
) -> None:
    seen = browser.new_page()
    problems = listen(seen, board.rpartition("/")[0])
    seen.goto(board)
    agents = seen.locator("tbody tr:visible td:first-child")
    every = agents.all_inner_texts()
    assert len(every) == len(list(CARDS.glob("*/card.json")))
    complete = seen.locator("table.board").first
    complete.get_by_role("button", name="Agent").click()
    names = complete.locator("td:first-child").all_inner_texts()
    assert names in (sorted(names), sorted(names, reverse=True))
    assert len(names) == len(every) - 1, "quick cards are apart"
    seen.locator("#words").fill("walker")
    assert agents.all_inner_texts() == ["walker"]
    seen.locator("#words").fill("")
    seen.locator("#verified").check()
    assert agents.count() == 0  # the package has no runs
    assert problems == []
    seen.close()


def test_published_cards_are_of_their_version_and_name_their_commit() -> None:
    version = {track.name: track for track in ladders.open_bench("2026").tracks}
    for path in CARDS.glob("*/card.json"):
        card = ladders.read_card(path)
        is_quick = path.parent.name == "smollm2"
        assert (card["bench"], card["quick"], card["private"]) == (
            "2026",
            is_quick,
            False,
        )
        assert len(card["commit"]) == 8
        for name, track in card["tracks"].items():
            played = version[name].quick() if is_quick else version[name]
            assert tuple(track["lengths"]) == played.lengths
