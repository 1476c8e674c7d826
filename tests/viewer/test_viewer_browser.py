"""The pages in a real browser: no error, no outside request, nothing that overlaps, on two sizes.

Skipped only where no chromium is on PATH; CONTRIBUTING says how CI gets it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from helpers.in_a_browser import CHROMIUM, chromium, listen, wrong
from wayword.runs.plan import Plan
from wayword.runs.running import run
from wayword.viewer.app import Server
from wayword.viewer.content import Content
from wayword.viewer.library import Library

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium on PATH: apt-get install chromium"
)
RUNS = (
    ("navgpt", "houses", "scripted:first"),
    ("oracle", "houses", ""),
    ("expert", "grounding", ""),
)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    top = tmp_path_factory.mktemp("browser") / "runs"
    for agent, on, model in RUNS:
        run(Plan(agent, on, model, limit=2, max_steps=8, out=top / f"{on}-{agent}"))
    with Server(Content(Library([top]))) as server, server.beside():
        yield server.address.rstrip("/")


@pytest.fixture(scope="module")
def browser(address: str) -> Iterator[Browser]:
    with chromium() as opened:  # after the runs, which need an event loop of their own
        yield opened


def look(
    browser: Browser, address: str, path: str, wide: int, scheme: Any
) -> tuple[Page, list[str]]:
    """The page, once its script has run, and everything that was wrong until then."""
    page = browser.new_page(viewport={"width": wide, "height": 900}, color_scheme=scheme)
    told = listen(page, address)
    page.goto(address + path)
    page.wait_for_selector("body[data-ready]", timeout=20_000)
    return page, told


@pytest.mark.parametrize(("wide", "scheme"), [(1400, "light"), (390, "dark")])
def test_every_kind_of_page_is_sound(
    browser: Browser, address: str, wide: int, scheme: str
) -> None:
    paths = ["/", "/run/houses-navgpt/", "/compare?run=houses-navgpt&run=houses-oracle"]
    page, _ = look(browser, address, "/run/grounding-expert/", wide, scheme)
    paths += [f"/run/{name}/" + page.locator("#episodes a").first.get_attribute("href")
              for name in ("grounding-expert",)]  # fmt: skip
    page.goto(address + "/run/houses-navgpt/")
    page.wait_for_selector("#episodes a")
    paths.append(
        "/run/houses-navgpt/" + str(page.locator("#episodes a").first.get_attribute("href"))
    )
    page.close()
    for path in paths:
        page, told = look(browser, address, path, wide, scheme)
        assert wrong(page) == [], path
        assert not told, path
        page.close()


def test_filters_stand_in_the_address_and_the_cursor_moves(browser: Browser, address: str) -> None:
    page, told = look(browser, address, "/run/houses-navgpt/", 1400, "light")
    page.fill("#search", "0000")
    assert page.locator("#count").inner_text() == "1 of 2"
    assert page.url.endswith("#q=0000")
    page.reload()
    page.wait_for_selector("body[data-ready]")
    assert page.locator("#count").inner_text() == "1 of 2"
    page.locator("#episodes a").first.click()
    page.wait_for_selector("body[data-ready]")
    page.keyboard.press("ArrowRight")
    assert page.url.endswith("#step-2")
    assert page.locator("#now").input_value() == "2"
    page.locator("#step-2 button.ask").first.click()
    page.wait_for_selector("#step-2 .tools pre")
    assert "plan:" in page.locator("#step-2 .tools pre").inner_text()
    assert not told
    page.close()
