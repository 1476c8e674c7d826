"""The first screen of a failed episode: what failed, where and why, in a window of either size."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from helpers.in_a_browser import CHROMIUM, chromium, wrong
from wayword.runs.plan import Plan
from wayword.runs.running import run
from wayword.viewer.app import Server
from wayword.viewer.content import Content
from wayword.viewer.library import Library

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium on PATH: apt-get install chromium"
)
FAILED = (
    *(
        "houses",
        "towns",
        "household",
        "apartments",
        "grounding",
        "iqa",
        "rearrangement",
    ),
    *("ma_household", "two_phase"),
)
WITH_GOLD = ("houses", "towns")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    top = tmp_path_factory.mktemp("first") / "runs"
    for on in FAILED:
        run(Plan("random", on, limit=3, first=True, max_steps=8, out=top / on))
    with Server(Content(Library([top]))) as server, server.in_background():
        yield server.address.rstrip("/")


@pytest.fixture(scope="module")
def browser(address: str) -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


def first_screen(browser: Browser, address: str, on: str, wide: int, tall: int) -> Page:
    page = browser.new_page(viewport={"width": wide, "height": tall})
    page.goto(f"{address}/run/{on}/")
    page.wait_for_selector("body[data-whole]")
    failed = page.locator("#episodes tr:has(.bad) a, #episodes tr:has(.cause) a").first
    page.goto(f"{address}/run/{on}/{failed.get_attribute('href')}")
    page.wait_for_selector("body[data-experts]")
    return page


@pytest.mark.parametrize(("wide", "tall"), [(1400, 900), (390, 844)])
@pytest.mark.parametrize("on", FAILED)
def test_a_failed_episode_opens_on_its_mistake_with_the_map_in_view(
    on: str, wide: int, tall: int, browser: Browser, address: str
) -> None:
    page = first_screen(browser, address, on, wide, tall)
    assert page.evaluate("scrollY") == 0
    sentence = page.locator(".mistake-words")
    assert sentence.count() == 1
    box = sentence.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] < tall / 3
    drawn = page.locator("svg.map").bounding_box()
    assert drawn is not None
    shown = min(tall, drawn["y"] + drawn["height"]) - drawn["y"]
    assert shown > 0.7 * drawn["height"], "the map is above the fold"
    assert page.locator("svg.map .future").count() == 0, "the whole walk is opaque"
    assert page.locator(".instruction:not(.private)").count() <= 1
    if on != "two_phase":
        assert (
            page.locator("svg.map .cross").count()
            == page.locator("svg.map g.walk").count()
        )
    if on in WITH_GOLD:
        assert page.locator("svg.map .star").count() == 1
        limit = page.locator(".scrubber button[data-key=f]").inner_text() == "limit"
        assert page.locator("svg.map .mistake").count() == int(not limit)
    step = page.locator("main").get_attribute("data-opens")
    assert (
        page.locator("svg.map .named:visible").count()
        == page.locator("svg.map .named").count()
    )
    assert step is not None, "a failed episode opens on a step"
    assert page.locator(".step:visible .same").count() < page.locator(".step").count()
    assert page.locator(f"#step-{step} .same").count() == 0, (
        "not marked as the expert's"
    )
    if step:
        if on != "two_phase":  # one step needs no time line
            assert page.locator("#now").input_value() == step
        assert page.locator(".step:visible h2").first.inner_text() == f"Step {step}"
    assert wrong(page, axe=False) == []
    page.close()


def test_steps_before_the_mistake_are_folded_until_they_are_requested(
    browser: Browser, address: str
) -> None:
    page = first_screen(browser, address, "iqa", 1400, 900)
    mistake = int(page.locator("main").get_attribute("data-mistake") or 0)
    assert mistake > 1, "the answer comes last"
    assert page.locator(".step:visible").count() == 1
    page.keyboard.press("ArrowLeft")
    assert page.locator(".step:visible").count() == mistake
    assert page.locator("#now").input_value() == str(mistake - 1)
    page.keyboard.press("f")
    assert page.locator("#now").input_value() == str(mistake)
    page.keyboard.press("End")
    page.reload()
    page.wait_for_selector("body[data-experts]")
    assert page.locator(".step:visible").count() == mistake, "the address names a step"
    page.close()


def test_on_a_phone_the_map_stays_while_steps_scroll(
    browser: Browser, address: str
) -> None:
    page = first_screen(browser, address, "houses", 390, 844)
    page.locator(".step").last.scroll_into_view_if_needed()
    page.wait_for_timeout(100)
    drawn = page.locator("svg.map").bounding_box()
    assert drawn is not None
    assert 0 <= drawn["y"] < 422
    page.close()


@pytest.mark.parametrize("on", ["household", "rearrangement", "ma_household"])
def test_on_a_phone_the_end_is_in_view_and_the_legend_has_what_is(
    on: str, browser: Browser, address: str
) -> None:
    page = first_screen(browser, address, on, 390, 844)
    frame = page.locator("svg.map").bounding_box()
    # a walk that could not have succeeded within its limit has no ring, but an end
    ring = page.locator("svg.map .mistake, svg.map .cross").first.bounding_box()
    assert frame is not None
    assert ring is not None
    assert frame["x"] <= ring["x"]
    assert ring["x"] + ring["width"] <= frame["x"] + frame["width"]
    assert frame["y"] <= ring["y"]
    assert ring["y"] + ring["height"] <= frame["y"] + frame["height"]
    absent = page.evaluate("""() => {
      const map = document.querySelector("svg.map"), frame = map.getBoundingClientRect();
      const meets = (box) => box.left < frame.right && frame.left < box.right
        && box.top < frame.bottom && frame.top < box.bottom;
      return [...document.querySelectorAll("aside .legend li:not([hidden]) i:not(.scale)")]
        .filter((sign) => ![...map.querySelectorAll("." + [...sign.classList].at(-1))]
          .some((part) => meets(part.getBoundingClientRect()))).map((sign) => sign.className);
    }""")
    assert absent == []
    lines = page.locator(".mistake-words").evaluate("""words => {
      const size = parseFloat(getComputedStyle(words).lineHeight);
      return Math.round(words.getBoundingClientRect().height / size);
    }""")
    assert lines <= 3
    page.close()


@pytest.mark.parametrize(("wide", "tall"), [(1400, 900), (390, 844)])
@pytest.mark.parametrize("on", ["iqa", "rearrangement", "ma_household"])
def test_a_goal_object_is_named_at_its_mark_or_by_a_line(
    on: str, wide: int, tall: int, browser: Browser, address: str
) -> None:
    page = first_screen(browser, address, on, wide, tall)
    astray, lines, names, views = page.evaluate("""() => {
      const map = document.querySelector("svg.map"), k = map.getScreenCTM();
      const names = [...map.querySelectorAll(".goalname")].filter((name) => name.getBBox().width);
      const marks = names.map((name) => {
        const [x1, y1, x2, y2] = name.dataset.box.split(" ").map(Number);
        const r = name.dataset.gap > 3 ? 6 : 0; // a dot is more than its middle
        return [k.a * x1 + k.e - r, k.d * y1 + k.f - r, k.a * x2 + k.e + r, k.d * y2 + k.f + r];
      });
      const shown = names.filter((name) => !name.matches(".under"));
      const away = (box, [x1, y1, x2, y2]) => Math.hypot(Math.max(0, x1 - box.right, box.left - x2),
        Math.max(0, y1 - box.bottom, box.top - y2));
      const astray = shown.filter((name) => {
        const box = name.getBoundingClientRect(), far = marks.map((mark) => away(box, mark));
        return far[names.indexOf(name)] > Math.min(...far) + 6;
      });
      const inside = (view, x, y) => view.isPointInFill(
        new DOMPoint(x, y).matrixTransform(view.getScreenCTM().inverse()));
      const poses = [...map.querySelectorAll(".pose.now")];
      const views = poses.flatMap((view) => shown.filter((name) => {
        const box = name.getBoundingClientRect(), [x1, y1, x2, y2] = marks[names.indexOf(name)];
        return inside(view, (box.left + box.right) / 2, (box.top + box.bottom) / 2)
          && !inside(view, (x1 + x2) / 2, (y1 + y2) / 2);
      }));
      return [astray.length, map.querySelectorAll(".leader").length, shown.length, views.length];
    }""")
    assert names
    assert astray <= lines
    assert views == 0, "no name in a view that its object is not in"
    page.close()


def test_goal_objects_are_named_on_the_map(browser: Browser, address: str) -> None:
    page = first_screen(browser, address, "apartments", 1400, 900)
    names = page.locator("svg.map .goalname:visible").all_text_contents()
    assert names
    page.close()


def test_the_home_page_names_its_costs_and_aligns_its_heads(
    browser: Browser, address: str
) -> None:
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.goto(address + "/?all=1")
    page.wait_for_selector("body[data-ready]")
    heads = page.locator("#runs thead > tr > *")
    assert "Cost an episode" in heads.all_inner_texts()
    cells = page.locator("#runs tbody tr").first.locator("> *")
    assert heads.count() == cells.count()
    for number in range(heads.count()):
        align = "e => getComputedStyle(e).textAlign"
        assert heads.nth(number).evaluate(align) == cells.nth(number).evaluate(align)
    assert (
        page.locator(".lead").first.inner_text().startswith(f"{len(FAILED)} runs in ")
    )
    page.close()
