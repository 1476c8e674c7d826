"""The pages in a real browser: no error, no outside request, nothing that overlaps, on two sizes.

Skipped only where no chromium is on PATH; CONTRIBUTING says how CI gets it.
"""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, Route

from helpers.in_a_browser import CHROMIUM, NEXT_FRAME, listen, wrong
from helpers.recorded_run import SCORES, make_run, recorded_trajectory
from helpers.sampling import LONG
from helpers.shown import episode_page
from wayword.core.dataset import Task
from wayword.core.episode import Episode, Reference
from wayword.core.model import Completion, Message, Usage
from wayword.core.trajectory import CLAUSES, FOLLOWED, ModelCall, Note
from wayword.runs.plan import Plan
from wayword.runs.record import EpisodeRecord
from wayword.runs.running import run
from wayword.viewer.app import Server
from wayword.viewer.content import Content
from wayword.viewer.data import Sources
from wayword.viewer.episode import Links
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
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    top = tmp_path_factory.mktemp("browser") / "runs"
    for agent, on, model in RUNS:
        plan = Plan(agent, on, model, limit=2, first=True, max_steps=8)
        run(replace(plan, out=top / f"{on}-{agent}"))
    return Library([top])


@pytest.fixture(scope="module")
def address(library: Library) -> Iterator[str]:
    with Server(Content(library)) as server, server.in_background():
        yield server.address.rstrip("/")


def first_episode(library: Library, name: str) -> str:
    """The path of the page of a run's first episode."""
    return f"/run/{name}/episode?id={quote(library.rows(name).ids[0])}"


def look(
    browser: Browser, address: str, path: str, wide: int, scheme: Any
) -> tuple[Page, list[str]]:
    """The page, once its script has run, and everything that was wrong until then."""
    page = browser.new_page(
        viewport={"width": wide, "height": 900}, color_scheme=scheme
    )
    messages = listen(page, address)
    page.goto(address + path)
    page.wait_for_selector("body[data-ready]", timeout=20_000)
    return page, messages


# A wide and a narrow page, a light and a dark one.
WINDOWS = ((1400, "light"), (390, "dark"), *([(1400, "dark")] if LONG else []))
PAGES = (
    "/",
    "/run/houses-navgpt/",
    "/compare?run=houses-navgpt&run=houses-oracle",
    "an episode of grounding-expert",
    "an episode of houses-navgpt",
)


@pytest.mark.parametrize("path", PAGES)
def test_every_kind_of_page_is_sound(
    path: str, browser: Browser, address: str, library: Library
) -> None:
    if path.startswith("an episode of "):
        path = first_episode(library, path.rpartition(" ")[2])
    page = browser.new_page()
    messages = listen(page, address)
    for wide, scheme in WINDOWS:
        page.set_viewport_size({"width": wide, "height": 900})
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.goto(address + path)
        page.wait_for_selector("body[data-ready]", timeout=20_000)
        is_first = (wide, scheme) == WINDOWS[0]
        assert wrong(page, only_style=not is_first) == [], f"{wide} px, {scheme}"
        assert not messages, f"{wide} px, {scheme}"


def test_long_names_of_runs_cut_no_interval(browser: Browser, tmp_path: Path) -> None:
    named = tmp_path / "navgpt-gpt-5-mini-houses-shots-2-temperature-0-seed-17"
    run(Plan("random", "houses", limit=2, max_steps=4, out=named))
    with Server(Content(Library([tmp_path]))) as server, server.in_background():
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(server.address)
        page.wait_for_selector("body[data-ready]", timeout=20_000)
        table = page.locator(".scroll")
        wide, room = table.evaluate("each => [each.scrollWidth, each.clientWidth]")
    assert wide <= room


SOLVED_FIRST = """
const parse = JSON.parse;
JSON.parse = (text) => {
  const data = parse(text);
  if (data.keys) data.rows.reverse();
  return data;
};
"""
"""Turns the run's order around: the walk that it solves is the second of its two."""


def test_failures_are_listed_first(browser: Browser, address: str) -> None:
    page = browser.new_page()
    page.add_init_script(SOLVED_FIRST)
    page.goto(address + "/run/houses-navgpt/")
    page.wait_for_selector("body[data-ready]", timeout=20_000)
    first_view = page.locator("#episodes .id a").all_inner_texts()
    page.select_option("#sort", "order")
    in_order = page.locator("#episodes .id a").all_inner_texts()
    scores = page.locator("#episodes td.n:nth-child(3)").all_inner_texts()
    assert scores == ["100", "0"], "solved, failed"
    assert first_view == in_order[::-1]
    page.close()


def test_filters_stand_in_the_address_and_the_cursor_moves(
    browser: Browser, address: str
) -> None:
    page, text = look(browser, address, "/run/houses-navgpt/", 1400, "light")
    page.fill("#search", "0000")
    assert page.locator("#count").inner_text() == "1 of 2"
    assert page.url.endswith("#q=0000")
    page.reload()
    page.wait_for_selector("body[data-ready]")
    # The texts are read in the background; until then, the count says so.
    page.wait_for_function("document.querySelector('#count').innerText === '1 of 2'")
    page.locator("#episodes a").first.click()
    page.wait_for_selector("body[data-experts]")
    page.evaluate(NEXT_FRAME)
    assert page.evaluate("scrollY") == 0, "a page begins with its verdict and why"
    opened = int(page.locator("#now").input_value())
    page.keyboard.press("ArrowRight")
    assert page.url.endswith(f"#step-{opened + 1}")
    assert page.locator("#now").input_value() == str(opened + 1)
    page.wait_for_selector("#step-1 .expert", state="attached")
    expert = page.locator("#step-1 .expert").text_content()
    assert expert == "as the expert" or "goto[" in str(expert)
    page.goto(page.url.partition("#")[0] + "#step-3")
    page.reload()
    page.wait_for_selector("body[data-experts]")
    page.evaluate(NEXT_FRAME)
    assert page.locator("#now").input_value() == "3", (
        "the step of the address stays chosen"
    )
    page.locator("#step-3 abbr.letter:visible").first.hover()
    lit = page.locator("svg.map .lit title").all_text_contents()
    name = page.locator("#step-3 abbr.letter:visible").first.get_attribute("title")
    assert lit
    assert all(str(name) in each for each in lit), (
        "a name under the pointer lights up on the map"
    )
    page.locator("#step-2 h2").hover()
    assert page.locator("svg.map .lit").count() == 0
    page.locator("#step-2 button.ask").first.click()
    page.wait_for_selector("#step-2 .tools pre")
    assert '"decision"' in page.locator("#step-2 .tools pre").inner_text()
    assert not text


def test_an_episode_is_read_by_keyboard_linked_to_and_printed(
    browser: Browser, address: str, library: Library
) -> None:
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(address + first_episode(library, "houses-navgpt"))
    page.wait_for_selector("body[data-experts]")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.locator(".skip").is_visible()
    page.keyboard.press("Enter")
    assert page.url.endswith("#main")
    stop = page.locator("svg.map .stop[role=button]").nth(1)
    steps = str(stop.get_attribute("data-steps")).split()
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.steps") == " ".join(steps):
            break
    page.keyboard.press("Enter")
    assert page.locator("#now").input_value() in steps, (
        "a place of the map is reached by keyboard"
    )
    page.locator("#step-2 button.link").click()
    page.wait_for_selector("#step-2 button.link:text('copied')")
    link = page.evaluate("navigator.clipboard.readText()")
    assert link == page.url.partition("#")[0] + "#step-2"
    page.goto("about:blank")
    page.goto(link)
    page.wait_for_selector("body[data-experts]")
    assert page.locator("#now").input_value() == "2"
    printed = page.pdf(format="A4")
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 1, "one page an episode"
    page.emulate_media(media="print")
    for kept in (".mistake-words, .verdict", "svg.map", "#step-1 h2", ".instruction"):
        assert page.locator(kept).first.is_visible(), kept
    for left_out in (".scrubber", ".tools", ".top", ".part"):
        assert not page.locator(left_out).first.is_visible(), left_out


def test_the_clause_that_is_followed_moves_with_the_cursor(
    browser: Browser, tmp_path: Path
) -> None:
    trajectory = recorded_trajectory("one")
    trajectory.opening_notes = [
        Note(CLAUSES, {"texts": ["go on", "stop"], "begins": [0, 7]})
    ]
    for number, step in enumerate(trajectory.steps[1:], 1):
        step.notes = [
            Note(FOLLOWED, {"number": number, "done": list(range(1, number))})
        ]
    task = Task(Episode("one", "Go on, stop.", "small", {}), Reference("one"))
    record = EpisodeRecord("one", SCORES, trajectory)
    sources = Sources(None, {"one": task})
    file = tmp_path / "one.html"
    file.write_text(episode_page(record, (), sources, "run", Links()))
    for wide, scheme in ((1400, "light"), (390, "dark")):
        page, wrongs = look(browser, file.as_uri(), "", wide, scheme)
        seen = []
        for _ in trajectory.steps[1:]:  # it opens on its last step
            page.keyboard.press("ArrowLeft")
        for _ in trajectory.steps:
            at = page.locator(
                ".instruction .clause.at, .instruction .clause[aria-current]"
            )
            seen.append(at.all_inner_texts())
            assert page.locator(".instruction").is_visible()
            assert wrong(page, axe=False) == []
            page.keyboard.press("ArrowRight")
        assert wrong(page, only_style=scheme == "dark") == [], "with a clause marked"
        assert seen == [[], ["Go on, "], ["stop."]]
        mark = "e => getComputedStyle(e, '::before').content"
        marks = page.locator(".instruction .clause")
        assert [marks.nth(n).evaluate(mark) for n in (0, 1)] == ['"✓"', '"▸"']
        box = page.locator(".pinned").bounding_box()
        assert box is not None
        assert 0 < box["y"] < 100, "it stays in view at the last step, on a phone too"
        assert wrongs == []


def test_messages_that_repeat_an_earlier_prompt_unfold_to_their_text(
    browser: Browser, tmp_path: Path
) -> None:
    trajectory = recorded_trajectory("one")
    prompts = []
    for number, step in enumerate(trajectory.steps):
        # The oldest message is left out from the second prompt on.
        turns = [
            Message("user", f"This is turn {each}.\n" * 9)
            for each in range(max(0, number - 1), number + 4)
        ]
        prompt = (Message("system", "Act."), Message("user", f"Turn {number}"), *turns)
        step.calls = [ModelCall("main", prompt, Completion(("stop",), Usage(5, 1)))]
        prompts.append(prompt)
    record = EpisodeRecord("one", SCORES, trajectory)
    file = tmp_path / "one.html"
    file.write_text(episode_page(record, (), Sources(), "run", Links()))
    page, wrongs = look(browser, file.as_uri(), "", 1400, "light")
    page.keyboard.press("Home")
    page.keyboard.press("e")
    assert page.get_by_text(re.compile("messages as in step 2")).count() == 1
    while page.locator(".folded").count():
        page.locator(".folded").last.click()
    for number, prompt in enumerate(prompts, 1):
        texts = page.locator(f"#step-{number} .prompt pre.text")
        assert texts.all_text_contents() == [each.content for each in prompt]
        roles = page.locator(f"#step-{number} .prompt h4")
        assert roles.all_text_contents() == [each.role for each in prompt]
    assert wrongs == []
    assert wrong(page, axe=False) == []


@pytest.mark.parametrize(("words", "fits"), [(20, True), (400, False)])
def test_an_instruction_is_shown_where_it_fits_and_else_marks_what_is_cut(
    browser: Browser, tmp_path: Path, words: int, fits: bool
) -> None:
    trajectory = recorded_trajectory("one")
    first = "Go on " * words
    trajectory.opening_notes = [
        Note(CLAUSES, {"texts": [first, "stop"], "begins": [0, len(first)]})
    ]
    trajectory.steps[-1].notes = [Note(FOLLOWED, {"number": 2, "done": [1]})]
    task = Task(Episode("one", f"{first}stop.", "small", {}), Reference("one"))
    record = EpisodeRecord("one", SCORES, trajectory)
    file = tmp_path / "one.html"
    sources = Sources(None, {"one": task})
    file.write_text(episode_page(record, (), sources, "run", Links()))
    for wide in (1400, 390):
        page, _ = look(browser, file.as_uri(), "", wide, "light")
        text = page.locator(".instruction")
        cut = text.evaluate("e => e.scrollHeight > e.clientHeight + 2")
        assert cut != fits
        assert text.locator("button").count() == int(not fits)
        page.wait_for_timeout(50)  # until the scrolling has been noticed
        begins = (
            "getComputedStyle(document.querySelector('.pinned'), '::before').content"
        )
        assert (page.evaluate(begins) == '"…"') != fits, "the text begins above"


SLOW = """
import asyncio
from pathlib import Path
from wayword.core.action import STOP, Decision
from wayword.agents.baselines.simple import RandomSettings
from wayword.core.agent import Agent

class Slow(Agent):
    \"\"\"Takes a step whenever the file ``steps`` beside it allows one more.\"\"\"
    Settings = RandomSettings
    families = frozenset()
    needs_model = False

    def __init__(self, settings, toolkit):
        self.rng, self.taken = toolkit.rng, 0

    async def begin(self, episode):
        pass

    async def act(self, observation, space):
        while int(Path(__file__).with_name("steps").read_text() or 0) <= self.taken:
            await asyncio.sleep(0.01)
        moves = [each for each in space.listed if each != STOP]
        return Decision(STOP if self.taken > 5 else self.rng.choice(moves))

    def on_feedback(self, decision, feedback):
        self.taken += 1

agent = Slow
"""


def deaf(address: str, path: str) -> socket.socket:
    """A browser that asks for events and never reads one."""
    host, port = address.removeprefix("http://").split(":")
    line = socket.create_connection((host, int(port)), timeout=60)
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    line.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
    return line


def test_a_run_is_watched_while_it_goes_on(
    browser: Browser, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wayword.runs.active._WRITE_EVERY", 0.0)
    agent = tmp_path / "slow.py"
    allowed = tmp_path / "steps"
    agent.write_text(SLOW)
    allowed.write_text("2")
    top = tmp_path / "runs"
    top.mkdir()
    plan = Plan(str(agent), "houses", limit=1, max_steps=9, out=top / "slow")
    going = Thread(target=lambda: run(plan), daemon=True)
    with Server(Content(Library([top]))) as server, server.in_background():
        own = server.address.rstrip("/")
        going.start()
        until(lambda: (top / "slow" / ".progress.json").exists())
        page, text = look(browser, own, "/?all=1", 1400, "light")
        assert "running" in page.locator("#runs").inner_text()
        page.goto(own + "/live-run")
        page.wait_for_selector("#running li")
        assert page.url == own + "/run/slow/", "the page of the run itself"
        assert (
            page.locator(".head .lead").inner_text()
            == "0 of 1 episode (180 in the split)."
        )
        page.wait_for_selector("body[data-whole]")
        until(lambda: "step 2 of 9" in page.locator("#running").inner_text(), page)
        assert page.locator("#progress").get_attribute("max") == "1"
        assert wrong(page) == []
        below = page.evaluate(
            "document.getElementById('search').getBoundingClientRect().top"
        )
        lost = [deaf(own, "/run/slow/live") for _ in range(9)]
        lost.pop().close()
        allowed.write_text("3")
        until(lambda: "step 3 of 9" in page.locator("#running").inner_text(), page)
        assert page.locator("#running .sketch .walk").count() == 1
        now = page.evaluate(
            "document.getElementById('search').getBoundingClientRect().top"
        )
        assert now == below, "nothing moves while a run goes on"
        page.locator("#running a").click()
        page.wait_for_selector("body[data-ready]")
        assert page.locator("#at").inner_text() == "Step 3 of 9"
        assert page.locator("#moves svg.map .stop").count() > 0
        assert wrong(page) == []
        allowed.write_text("5")
        until(lambda: page.locator("#at").inner_text() == "Step 5 of 9", page)
        assert page.locator(".moves li").count() == 5
        allowed.write_text("99")
        going.join(60)
        assert not going.is_alive(), "browsers that do not read do not hold the run up"
        page.wait_for_selector("#step-7")
        assert text == []
        for line in lost:
            line.close()
        page.close()


def test_the_box_of_running_episodes_shrinks_once_no_other_follows(
    browser: Browser, tmp_path: Path
) -> None:
    path = make_run(tmp_path / "runs" / "home", ("one",))
    names = ("two", "three")
    walks = [
        {"id": name, "step": 2, "of": 9, "actor": "a", "action": "b", "moves": []}
        for name in names
    ]

    def report(running: int, total: int) -> None:
        now = {"process": 1, "done": 1, "total": total, "over": False, "calls": 0,
               "episodes": walks[:running], "tokens": 0, "dollars": 0.0,
               "max_dollars": None, "before": 0}  # fmt: skip
        (path / ".progress.json").write_text(json.dumps(now))

    def height() -> int:
        box = page.locator("#running").bounding_box()
        assert box is not None
        return round(box["height"])

    report(2, 9)
    with (
        Server(Content(Library([tmp_path / "runs"]))) as server,
        server.in_background(),
    ):
        page, _ = look(browser, server.address.rstrip("/"), "/run/home/", 390, "light")
        until(lambda: page.locator("#running li").count() == 2, page)
        both = height()
        report(1, 9)
        until(lambda: page.locator("#running li").count() == 1, page)
        assert height() == both, "what is below stays"
        report(1, 2)
        until(lambda: height() < both, page)
        page.close()


def test_a_sentence_is_cut_after_two_lines_and_moves_no_row(
    browser: Browser, address: str
) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    words = (
        "<span>Step 3: " + "went where nobody had been, " * 2 + "and stopped.</span>"
    )
    waiting: list[Route] = []
    page.route("**/sentence?*", lambda route: waiting.append(route))
    page.goto(address + "/run/houses-navgpt/")
    page.wait_for_selector("body[data-whole]", state="attached")
    sentences = page.locator("#episodes .sentence")
    before = page.locator("#more").bounding_box()
    # The next one is requested once the one before has arrived.
    for number in range(sentences.count()):
        until(lambda: len(waiting) > number, page)  # noqa: B023
        waiting[number].fulfill(body=words, content_type="text/plain")
    until(lambda: all(sentences.all_text_contents()), page)
    for sentence in sentences.all():
        assert sentence.evaluate("e => e.scrollHeight - e.clientHeight") <= 2
    assert page.locator("#more").bounding_box() == before
    page.close()


def test_a_page_that_watches_has_the_full_run_at_its_end(
    browser: Browser, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wayword.runs.active._WRITE_EVERY", 0.0)
    agent = tmp_path / "slow.py"
    allowed = tmp_path / "steps"
    together = SLOW.replace("self.taken += 1", "Slow.taken += 1").replace(
        ", self.taken", ""
    )
    together = together.replace("toolkit.rng, 0", "toolkit.rng").replace(
        "= False", "= False\n    taken = 0"
    )
    # Counts the steps of all episodes, which are played in order
    agent.write_text(together)
    allowed.write_text("2")
    top = tmp_path / "runs"
    top.mkdir()
    plan = Plan(
        str(agent), "houses", limit=3, max_steps=5, concurrency=1, out=top / "slow"
    )
    going = Thread(target=lambda: run(plan), daemon=True)
    with Server(Content(Library([top]))) as server, server.in_background():
        own = server.address.rstrip("/")
        going.start()
        until(lambda: (top / "slow" / ".progress.json").exists())
        page, text = look(browser, own, "/live-run", 1400, "light")
        page.wait_for_selector("#running li")
        until(lambda: "step 2 of 5" in page.locator("#running").inner_text(), page)
        start = page.evaluate(
            "document.querySelector('.sketch .walk .move')?.dataset.step"
        )
        assert start == "1", "the walk begins where the episode did"
        allowed.write_text("5")
        until(lambda: page.locator("section.causes h2").count() == 1, page)
        assert "Why 1 episode failed" in page.locator("section.causes h2").inner_text()
        until(lambda: page.locator("#state").count() == 1, page)
        allowed.write_text("99")
        going.join(60)
        settling = Thread(target=server.settle, daemon=True)
        settling.start()
        until(lambda: page.locator("#state").inner_text() == "Ended.", page)
        until(lambda: page.locator("#episodes tbody tr").count() == 3, page)
        until(
            lambda: "Why 3 episodes" in page.locator("section.causes h2").inner_text(),
            page,
        )
        until(lambda: page.locator("#episodes .cause").count() >= 3, page)
        assert page.locator("#running").is_hidden()
        until(lambda: not settling.is_alive(), page)
        assert text == []
        page.close()


def until(holds: Any, page: Page | None = None) -> None:
    """Wait until something holds; a minute at most."""
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end, "nothing came of it"
        page.wait_for_timeout(50) if page else time.sleep(0.02)


def test_names_on_a_map_stand_next_to_their_marks_and_cover_nothing(
    browser: Browser, address: str, library: Library
) -> None:
    path = first_episode(library, "houses-navgpt")
    page, text = look(browser, address, path, 1400, "light")
    page.wait_for_selector("body[data-experts]")
    boxes = page.evaluate(
        """() => ["text.placeletter", "text.roomname", ".stop:has(.number)"].map((kind) =>
             [...document.querySelectorAll("svg.map " + kind)].map((e) => {
               const { left, top, right, bottom } = e.getBoundingClientRect();
               return [left, top, right, bottom];
             }).filter(([left, , right]) => right > left))"""
    )
    letters, rooms, stops = boxes
    assert len(letters) > 3, "places have letters"
    for number, (left, top, right, bottom) in enumerate(letters):
        for a, b, c, d in (*letters[number + 1 :], *rooms, *stops):
            covered = min(right, c) - max(left, a), min(bottom, d) - max(top, b)
            assert min(covered) < 4, (
                "a label's box is 3 units of its halo wider than its letter"
            )
    assert not text
