"""Published data in a real browser: pages are sound, and an episode of each world can be won.

One browser, one page a world; whoever plays clicks what an expert did.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Error, Page

from helpers.in_a_browser import CHROMIUM, listen, wrong
from helpers.sampling import LONG, some
from wayword.core.action import Decision
from wayword.datasets.r2r import R2R
from wayword.runs.config import success_of
from wayword.runs.opening import open_dataset, shared_datasets
from wayword.runs.plan import Plan
from wayword.runs.record import EpisodeRecord, RunFolder
from wayword.runs.running import run
from wayword.viewer.app import Server
from wayword.viewer.content import Content
from wayword.viewer.library import Library
from wayword.viewer.maps.indoor import floors

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(
        CHROMIUM is None, reason="no chromium on PATH: apt-get install chromium"
    ),
]
DO = """(action) => {
  const buttons = [...document.querySelectorAll("button.act")];
  const press = buttons.find((e) => e.dataset.action === action);
  if (press) { press.click(); return true; }
  const say = document.getElementById("say");
  say.elements.words.value = action;
  say.requestSubmit();
  return false;
}"""
"""Press the button of an action, or type it, and be sure of it."""
ANSWERED = """(turn) => {
  const board = document.getElementById("board");
  return document.querySelector("#sure[open]") || !board || board.dataset.asking !== turn;
}"""
"""True once the game has gone on, or asks whether the action is meant."""


@dataclass(frozen=True)
class OneWorld:
    """A run of one episode, won by an agent that is shown the answer."""

    name: str
    on: str
    agent: str
    high: bool = False

    def plan(self, agent: str, data: Path, out: Path, **more: Any) -> Plan:
        settings = {"dataset": {"actions": "high"}} if self.high else {}
        return Plan(agent, self.on, settings=settings, data=data, out=out, **more)


WORLDS = (
    OneWorld("r2r", "r2r:val_seen", "oracle"),
    OneWorld("map2seq", "map2seq:unseen_dev", "oracle"),
    OneWorld("robothor", "robothor:debug", "oracle"),
    OneWorld("alfred", "household:valid_seen", "expert", high=True),
    OneWorld("teach", "ma_household:valid_seen", "team", high=True),
    OneWorld("babyai", "grounding", "expert"),
    OneWorld("two_phase", "two_phase", "oracle"),
)
each_world = pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Path:
    top = tmp_path_factory.mktemp("browser") / "runs"
    with shared_datasets():
        for world in WORLDS:
            run(
                world.plan(
                    world.agent, data, top / world.name, episodes=(short(world, data),)
                )
            )
        run(WORLDS[0].plan("oracle", data, top / "climbs", episodes=(climb(data),)))
    return top


@pytest.fixture(scope="module")
def server(top: Path, data: Path) -> Iterator[Server]:
    with Server(Content(Library([top]), data)) as running, running.in_background():
        yield running


def short(world: OneWorld, data: Path) -> str:
    """The id of an episode with a short way, where ways differ much."""
    tasks = open_dataset(world.plan(world.agent, data, data)).tasks[:40]
    return min(
        tasks, key=lambda task: len(getattr(task.reference, "path", ()))
    ).episode.id


def climb(data: Path) -> str:
    """The id of an episode of R2R that ends on another floor than its first step."""
    dataset = open_dataset(WORLDS[0].plan("oracle", data, data))
    assert isinstance(dataset, R2R)
    for task in dataset.tasks:
        floor = floors(dataset.graph(task.episode.scene))
        path = getattr(task.reference, "path", ())
        if floor[path[1]] != floor[path[-1]]:
            return task.episode.id
    raise AssertionError("no path climbs")


def record_of(path: Path) -> EpisodeRecord:
    (record,) = RunFolder.read(path).records()
    return record


def ready(page: Page) -> None:
    page.wait_for_selector("body[data-ready]", timeout=30_000)


@each_world
def test_pages_of_published_data_are_sound(
    world: OneWorld, browser: Browser, server: Server
) -> None:
    address = server.address.rstrip("/")
    page = browser.new_page(
        viewport={"width": 1400, "height": 900}, color_scheme="light"
    )
    messages = listen(page, address)
    page.goto(f"{address}/run/{world.name}/")
    ready(page)
    page.wait_for_selector("#episodes a")
    # Pages of runs are the same in all worlds: axe reads one.
    for wide, scheme in ((390, "dark"), (1400, "light")):
        page.set_viewport_size({"width": wide, "height": 900})
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        is_read = world is WORLDS[0]
        assert wrong(page, is_read, only_style=wide == 1400) == [], (
            f"run page, {wide} px, {scheme}"
        )
    page.locator("#episodes a").first.click()
    # The page of a solved episode opens at its end, with the steps before it folded.
    page.wait_for_selector(".step:not([hidden])")
    ready(page)
    # Labels and lines depend on the width, contrasts on the scheme.
    for wide, scheme in ((1400, "light"), (390, "dark"), (390, "light")):
        page.set_viewport_size({"width": wide, "height": 900})
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        is_read = scheme == "dark" or (wide == 390 and world.name == "alfred")
        assert wrong(page, is_read, only_style=scheme == "light") == [], (
            f"episode page, {wide} px, {scheme}"
        )
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert page.locator("#now").input_value() == "2"
    assert messages == []


def test_a_walk_over_two_floors_shows_them_one_at_a_time(
    browser: Browser, server: Server
) -> None:
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    messages = listen(page, server.address.rstrip("/"))
    page.goto(f"{server.address}run/climbs/")
    page.locator("#episodes a").first.click()
    page.wait_for_selector("body[data-experts]")
    pressed = page.locator(".floors button[aria-pressed=true]").inner_text()
    assert pressed in ("floor 1", "floor 2"), "that of the end, where the page opens"
    page.keyboard.press("Home")
    assert page.locator(".floors button[aria-pressed=true]").inner_text() != pressed
    page.keyboard.press("End")
    for number, other in ((1, 2), (2, 1)):
        page.click(f".floors button:text-is('floor {number}')")
        away = page.locator(".map .place.away").all()
        assert {part.get_attribute("data-floor") for part in away} == {str(other - 1)}
        dim = "getComputedStyle(document.querySelector('.map .place{}')).opacity"
        assert float(page.evaluate(dim.format(".away"))) < 0.3
        assert float(page.evaluate(dim.format(":not(.away)"))) > 0.5
    page.click(".floors button:text-is('all floors')")
    assert page.locator(".map .away").count() == 0
    assert page.locator(".map .edge.stairs").count() > 0
    assert "between floors" in page.locator(".legend").first.inner_text()
    assert wrong(page) == []
    assert messages == []


def test_the_home_page_of_published_data_is_sound(
    browser: Browser, server: Server
) -> None:
    page = browser.new_page()
    messages = listen(page, server.address.rstrip("/"))
    for wide, scheme in ((1400, "light"), (390, "dark")):
        page.set_viewport_size({"width": wide, "height": 900})
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.goto(server.address)
        ready(page)
        assert wrong(page, only_style=wide == 390) == [], f"{wide} px, {scheme}"
        assert page.locator("#runs tr[data-run]").count() >= len(WORLDS)
        page.fill("#search", "robothor")
        assert page.locator("#runs tr[data-run]:visible").count() == 1, (
            "one run matches"
        )
    assert messages == []


# Every second world in the short form; two actors of TEACh take half a minute.
@pytest.mark.parametrize(
    "world",
    [world for world in some(WORLDS, 2) if LONG or world.name != "teach"],
    ids=lambda world: world.name,
)
def test_an_episode_of_each_world_is_won_in_the_browser(
    world: OneWorld, browser: Browser, server: Server, top: Path, data: Path
) -> None:
    record = record_of(top / world.name)
    plan = world.plan(
        "human", data, top / f"me-{world.name}", episode=record.episode_id
    )
    table = server.games.begin(plan, others="human" if world.name == "teach" else "")
    pages: dict[str, Page] = {}
    messages: list[str] = []
    turns: dict[str, int] = {}
    for step in record.trajectory.steps:
        assert isinstance(step.decision, Decision)
        page = pages.get(step.actor)
        if page is None:
            page = pages[step.actor] = browser.new_page(
                viewport={"width": 1400, "height": 900}
            )
            messages = listen(page, server.address.rstrip("/"))
            page.goto(f"{server.address}play/{table.name}/")
            page.wait_for_selector("a[href^=seat], #board[data-turn]", timeout=30_000)
            seat = f"{server.address}play/{table.name}/seat?as={step.actor}"
            try:
                page.goto(seat)
            except Error:  # the lobby was loading again, as the game had begun
                page.goto(seat)
        turns[step.actor] = turns.get(step.actor, 0) + 1
        page.wait_for_selector(
            f"#board[data-asking='{turns[step.actor]}']", timeout=30_000
        )
        if turns[step.actor] == 2:
            assert wrong(page) == []
            page.set_viewport_size({"width": 390, "height": 900})
            assert wrong(page, axe=False) == []
        page.evaluate(DO, str(step.decision.action))
        page.wait_for_function(ANSWERED, arg=str(turns[step.actor]), timeout=30_000)
        # The action ends the game or is not listed
        if page.query_selector("#sure[open]"):
            page.click("#sure[open] button[value=yes]")
    page = next(iter(pages.values()))
    page.wait_for_selector("#end", timeout=30_000)
    assert wrong(page, axe=False) == []
    assert messages == []
    played = RunFolder.read(top / f"me-{world.name}")
    (mine,) = played.records()
    assert mine.scores[success_of(played.config)] == 1.0
    both = f"compare?run={world.name}&run=me-{world.name}"
    for path in (both, f"{both}&id={quote(record.episode_id)}"):
        page.goto(server.address + path)
        ready(page)
        assert wrong(page, axe=world is WORLDS[0]) == [], path
    assert messages == []
