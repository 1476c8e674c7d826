"""The board of the published cards in a browser: sortable and filtered, light and dark, narrow."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from urllib.parse import urljoin

import pytest
from playwright.sync_api import Browser

import wayword.bench
from helpers.in_a_browser import CHROMIUM, listen, wrong
from wayword.bench import ladders, page, scorecard

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium on PATH: apt-get install chromium"
)
CARDS = Path(wayword.bench.__file__).parent / "cards"


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> str:
    return page.write_board(CARDS, tmp_path_factory.mktemp("site")).as_uri()


def test_board_and_card_are_accessible(board: str, browser: Browser) -> None:
    # axe is added to the page, which its policy would refuse
    seen = browser.new_page(bypass_csp=True)
    seen.goto(board)
    card = seen.locator("tbody a").first.get_attribute("href")
    assert card is not None
    for address in (board, urljoin(board, card)):
        seen.goto(address)
        seen.wait_for_selector("table.board, svg")
        for number, (wide, scheme) in enumerate(
            product((1280, 390), ("light", "dark"))
        ):
            seen.set_viewport_size({"width": wide, "height": 844})
            seen.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            where = f"{address.rpartition('/')[2]}, {wide} px, {scheme}"
            assert wrong(seen, only_style=number > 0) == [], where


def test_the_board_fits_a_laptop(board: str, browser: Browser) -> None:
    seen = browser.new_page(viewport={"width": 1280, "height": 800})
    seen.goto(board)
    for table in seen.locator(".scroll").all():
        wide, room = table.evaluate("each => [each.scrollWidth, each.clientWidth]")
        assert wide <= room, "an interval would be cut"


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


def test_published_cards_are_of_their_version_and_name_their_commit() -> None:
    version = {track.name: track for track in ladders.open_bench("2026").tracks}
    for path in CARDS.glob("*/card.json"):
        card = scorecard.read_card(path)
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
