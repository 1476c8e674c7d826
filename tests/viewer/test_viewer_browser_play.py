"""Games in a real browser: won by mouse alone and by keyboard alone, and what goes wrong then."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from helpers.in_a_browser import CHROMIUM, listen, wrong
from wayword.core.action import Decision
from wayword.runs.plan import Plan
from wayword.runs.record import EpisodeRecord, RunFolder
from wayword.runs.running import run
from wayword.viewer.app import Server
from wayword.viewer.content import Content
from wayword.viewer.library import Library

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium on PATH: apt-get install chromium"
)
WORLDS = (("houses", "oracle"), ("towns", "oracle"), ("grounding", "expert"))
each_world = pytest.mark.parametrize("world", [world for world, _ in WORLDS])


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("games") / "runs"
    for world, agent in WORLDS:
        run(Plan(agent, world, limit=1, first=True, out=top / f"won-{world}"))
    return top


@pytest.fixture(scope="module")
def server(top: Path) -> Iterator[Server]:
    with Server(Content(Library([top]))) as running, running.in_background():
        yield running


def won(top: Path, world: str) -> EpisodeRecord:
    (record,) = RunFolder.read(top / f"won-{world}").records()
    return record


def actions(record: EpisodeRecord) -> list[str]:
    decisions = (step.decision for step in record.trajectory.steps)
    return [str(each.action) for each in decisions if isinstance(each, Decision)]


def start_page(
    browser: Browser, server: Server, plan: Plan, wide: int = 1400
) -> tuple[Page, list[str]]:
    """The page of a game's only seat, at its first turn."""
    table = server.games.begin(plan)
    page = browser.new_page(viewport={"width": wide, "height": 900})
    messages = listen(page, server.address.rstrip("/"))
    page.goto(f"{server.address}play/{table.name}/")
    turn(page, 1)  # the lobby leads to the only seat by itself
    return page, messages


def turn(page: Page, number: int) -> None:
    page.wait_for_selector(f"#board[data-asking='{number}']")


def keys_of(page: Page) -> dict[str, str]:
    """The key of each action that has one."""
    pressed: dict[str, str] = page.evaluate(
        """() => Object.fromEntries(
          [...document.querySelectorAll(".menu .act[data-action][data-key]")]
            .map((press) => [press.dataset.action, press.dataset.key]))"""
    )
    return pressed


def type_words(page: Page, words: str) -> None:
    """Type into the input line, which is hidden until it is used."""
    if not page.locator("#say input").is_visible():
        page.keyboard.press("/")
    page.fill("#say input", words)


def leave(page: Page) -> None:
    page.locator("#leave").click()
    page.locator("dialog button[value=yes]").click()
    page.wait_for_selector("#end")


def click(page: Page, selector: str) -> None:
    """Move the mouse there and press it: nothing else is touched."""
    # In one go: the board may be rendered again at any time.
    x, y = page.locator(selector).first.evaluate(
        """found => {
          found.scrollIntoView({ block: "center" });
          const box = found.getBoundingClientRect();
          return [box.x + box.width / 2, box.y + box.height / 2];
        }"""
    )
    page.mouse.click(x, y)


def at_the_end(page: Page, world: str) -> None:
    """The result, the other run and the best path are shown, and nothing is left to type."""
    page.wait_for_selector("#end")
    end = page.locator("#end").inner_text()
    assert "✓ Solved ★★★" in end
    assert "as fast as the expert" in end
    assert f"✓ {dict(WORLDS)[world]}" in end
    assert page.locator("svg.map polyline.gold").count() == 1
    assert page.locator(".menu button").count() == 0
    assert not page.locator("#say").is_visible()
    assert not page.locator("#leave").is_visible()
    assert page.locator(".next").evaluate("found => found === document.activeElement")
    page.locator("#end summary", has_text="Scores").click()
    assert "100%" in page.locator("#end table").inner_text()
    assert wrong(page, axe=False) == []


@each_world
def test_a_game_is_won_by_mouse_alone(
    world: str, browser: Browser, server: Server, top: Path
) -> None:
    record = won(top, world)
    plan = Plan("human", world, episode=record.episode_id, out=top / f"mouse-{world}")
    page, text = start_page(browser, server, plan)
    assert wrong(page) == []
    status = page.locator(".status").inner_text()
    assert ("of at most" in status) != ("★★★ within 25%" in status), (
        "only a limit that is near"
    )
    bold = page.locator(".around b").all_inner_texts()
    if world != "grounding":
        assert bold, "what the task names"
    assert not {"doorway to", "room", "grey"} & {*bold}
    named = page.locator("svg .label.named").all_text_contents()
    assert "A" not in named, "the letter of a place is no word of the task"
    on_the_map = 0
    for number, action in enumerate(actions(record), 1):
        turn(page, number)
        target = f'.target[data-action="{action}"]'
        on_the_map += page.locator(target).count() > 0
        click(
            page,
            target if page.locator(target).count() else f'.act[data-action="{action}"]',
        )
        if action == "stop":
            page.wait_for_selector("dialog[open]")
            assert (
                page.locator("#question").inner_text()
                == "stop ends the game. Stop here?"
            )
            click(page, "dialog button[value=yes]")
    at_the_end(page, world)
    if world == "houses":
        assert on_the_map == len(actions(record)) - 1, (
            "every place is pressed on the map"
        )
    assert (on_the_map > 0) == (world != "grounding")
    assert text == []


@each_world
def test_a_game_is_won_by_keyboard_alone(
    world: str, browser: Browser, server: Server, top: Path
) -> None:
    record = won(top, world)
    plan = Plan("human", world, episode=record.episode_id, out=top / f"keys-{world}")
    page, text = start_page(browser, server, plan)
    pressed = set()
    for number, action in enumerate(actions(record), 1):
        turn(page, number)
        button = page.locator(f'button.act[data-action="{action}"]')
        key = button.get_attribute("data-key")
        assert key is not None, "each has a key, and shows it"
        assert button.locator("kbd").inner_text() == {
            "ArrowUp": "↑", "ArrowLeft": "←", "ArrowRight": "→", "ArrowDown": "↓",
        }.get(key, key)  # fmt: skip
        pressed.add(key)
        page.keyboard.press(key)
        if action == "stop":
            page.wait_for_selector("dialog[open]")
            page.keyboard.press("Enter")  # the safe choice has the focus
            page.wait_for_selector("dialog:not([open])", state="attached")
            assert page.locator("#end").count() == 0
            page.keyboard.press("/")
            page.keyboard.type("stop")
            page.keyboard.press("Enter")
            page.wait_for_selector("dialog[open]")
            assert page.evaluate("document.activeElement.value") == "no"
            page.keyboard.press("s")
    at_the_end(page, world)
    assert pressed & {"ArrowUp", "ArrowLeft", "ArrowRight"}
    assert text == []
    played = RunFolder.read(top / f"keys-{world}").records()
    assert [actions(each) for each in played] == [actions(record)]


def test_a_typo_costs_nothing_and_stop_stands_last(
    browser: Browser, server: Server, top: Path
) -> None:
    record = won(top, "houses")
    plan = Plan("human", "houses", episode=record.episode_id, out=top / "typo")
    page, text = start_page(browser, server, plan)
    buttons = page.locator(".menu .act")
    assert buttons.nth(buttons.count() - 1).get_attribute("data-action") == "stop"
    for words, reason in (
        ("fly", "no action is called fly; actions: goto, stop"),
        ("99", "number must be between 1 and"),
    ):
        type_words(page, words)
        page.keyboard.press("Enter")
        page.wait_for_selector("#problem:not([hidden])")
        page.wait_for_selector(f"#problem:text('{reason}')")
        assert page.input_value("#say input") == words, "it can be mended"
        turn(page, 1)
    type_words(page, "goto[Z]")
    page.keyboard.press("Enter")
    page.wait_for_selector("#problem:text('No way to Z from here')")
    # A letter is no part of an id
    for number, way in enumerate(("goto[{}]", "go to {}", "{}"), 1):
        going = page.locator(".menu .act[data-action^=goto]").last
        letter = going.evaluate(
            "(each) => each.querySelector('kbd + *, small').previousSibling.data"
        )
        action = going.get_attribute("data-action")
        type_words(page, way.format(letter.strip()))
        page.keyboard.press("Enter")
        turn(page, number + 1)
        done = "document.querySelector('.log li:last-child .letter').title"
        assert f"goto[{page.evaluate(done)}]" == action
    leave(page)
    assert text == []


def test_words_of_a_button_run_it_and_folds_close_again(
    browser: Browser, server: Server, top: Path
) -> None:
    page, text = start_page(
        browser, server, Plan("human", "household", episode="1", out=top / "words")
    )
    folds = "[...document.querySelectorAll('.menu details')].map((part) => part.open)"
    assert not any(page.evaluate(folds))
    page.keyboard.press("?")
    page.wait_for_selector("#help[open]")
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("counter")
    assert any(page.evaluate(folds))
    page.keyboard.press("Escape")
    assert not any(page.evaluate(folds)), "opened by the filter alone"
    page.keyboard.press("/")
    page.keyboard.type("explore")
    page.keyboard.press("Enter")
    page.wait_for_selector("#say #problem:text('5 buttons match')")
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("/explore kitchen")
    page.keyboard.press("Enter")
    turn(page, 2)
    assert (
        page.locator(".log li").last.inner_text().endswith("You explored the kitchen.")
    )
    assert page.evaluate("document.activeElement.name") == "words", "who typed types on"
    page.locator("#feedback summary").click()
    assert "Of these, closed" in page.locator("#feedback").inner_text()
    page.evaluate("scrollTo(0, 9999)")
    page.locator("svg .target[data-name]:not([data-holds])").first.dispatch_event(
        "click"
    )
    page.wait_for_selector("#choose[open]")
    assert page.evaluate("document.activeElement.tagName") == "BUTTON", (
        "no keyboard pops up"
    )
    page.locator("#choose .act").first.click()
    turn(page, 3)
    assert page.locator("#choose[open]").count() == 0
    assert (
        page.evaluate("document.querySelector('#feedback').getBoundingClientRect().top")
        > 60
    )
    assert "• Put, bring" in page.locator(".rule").inner_text()
    assert wrong(page) == []
    assert text == []


def test_everyday_words_stand_for_names(
    browser: Browser, server: Server, top: Path
) -> None:
    episode = "home-test-s0-r5-0010_pick_heat_then_place_in_recep_0"
    page, text = start_page(
        browser, server, Plan("human", "household", episode=episode, out=top / "bin")
    )
    assert (
        page.locator(".task").inner_text()
        == "Warm up a potato, then set it in the bin."
    )
    assert page.locator(".task + .rule").inner_text().splitlines()[1:] == [
        "• Heat, warm, cook: it was in a closed microwave that was on."
    ]
    first = keys_of(page)
    page.locator(".act[data-action='go_explore[kitchen]']").click()
    turn(page, 2)
    page.wait_for_selector("#feedback summary:text('and 37 more')")
    moves = page.locator(".status").inner_text()
    assert "Turn 2" in moves
    assert "of at most" not in moves, "the limit of 500 is far away"
    assert "41 moves, walking included" in moves
    bold = page.locator("#feedback b").all_inner_texts()
    assert bold == ["You explored the kitchen. ", "garbage can 1", "potato 1"]
    keys = keys_of(page)
    assert {keys.get(action, key) == key for action, key in first.items()} == {True}
    walks = [key for action, key in keys.items() if action.startswith("goto[")]
    assert all(keys["go_grab[potato_1]"] < key for key in walks), "an act before a walk"
    page.keyboard.press("/")
    page.keyboard.type("bin")
    left = page.locator(".menu .act[data-action]:visible").all()
    assert {press.get_attribute("data-action") for press in left} == {
        "goto[garbage_can_1]", "go_check[garbage_can_1]",
    }  # fmt: skip
    page.keyboard.press("Escape")
    assert {"garbage can 1", "potato 1"} <= {
        *page.locator("svg .label").all_text_contents()
    }, "what was seen on the way is on the map"
    assert page.locator("svg .floor").count() == 2, "the rooms that the actor was in"
    explored = page.locator(".act[data-action^='go_explore']").all()
    assert [press.get_attribute("class") for press in explored][-1] == "act idle"
    assert explored[-1].get_attribute("data-action") == "go_explore[kitchen]"
    page.locator("svg .label", has_text="garbage can 1").click()
    page.wait_for_selector("#choose[open] h2:text('garbage can 1')")
    page.keyboard.press("Escape")
    assert not page.locator("svg .target[data-within][data-name='cd_1']").is_visible()
    click(page, "svg .target[data-holds~='cd_1']")
    page.locator("#choose .act", has_text="tissue box 1").click()
    page.wait_for_selector("#choose[open] h2:text('tissue box 1')")
    page.locator("#choose .act", has_text="go to tissue box 1").click()
    turn(page, 3)
    page.locator(".act[data-action='go_grab[potato_1]']").click()
    turn(page, 4)
    page.keyboard.press("/")
    page.keyboard.type("put potato in the bin")
    left = page.locator(".menu .act[data-action]:visible").all()
    assert [press.get_attribute("data-action") for press in left] == [
        "go_put[garbage_can_1]"
    ]
    type_words(page, "fly")
    assert page.locator("#board.nomatch .menu .act:visible").count() > 9, (
        "no match hides none"
    )
    type_words(page, "")
    buttons = page.locator(".act.named").all()
    heat = "heat[potato_1, microwave_1]"
    assert heat in [press.get_attribute("data-action") for press in buttons]
    page.locator(f".act[data-action='{heat}']").click()
    turn(page, 5)
    assert page.locator(".act.named[data-action^=heat]").count() == 0, "it is done"
    type_words(page, "put potato in the bin")
    page.keyboard.press("Enter")
    turn(page, 6)
    named = page.locator(".act.named").all()
    doing = [
        str(press.get_attribute("data-action")).partition("[")[0] for press in named
    ]
    assert not {"pick_up", "go_grab", "drop"} & {*doing}, (
        "nothing that undoes the last move"
    )
    page.keyboard.press("Escape")
    page.click(".act[data-action=stop]")
    page.wait_for_selector("dialog[open]")
    page.keyboard.press("y")
    page.wait_for_selector("#end")
    assert "Done in 6 turns, " in page.locator("#end").inner_text()
    assert not page.locator(".around").is_visible(), "the last view is folded"
    page.keyboard.press("t")
    turn(page, 1)
    assert "1 game, 1 solved (first tries)" in page.locator(".status").inner_text()
    assert text == []


def test_what_blocks_a_way_stands_out(
    browser: Browser, server: Server, top: Path
) -> None:
    episode = "home-test-s0-r5-0006_pick_and_place_with_movable_recep_0"
    page, text = start_page(
        browser, server, Plan("human", "household", episode=episode, out=top / "door")
    )
    page.locator(".act[data-action='go_explore[living room]']").click()
    turn(page, 2)
    assert "Closed on it: door 3." in page.locator("#feedback").inner_text()
    key = keys_of(page)["goto[door_3]"]
    assert key.isdecimal()
    assert page.locator("svg .label.named").all_text_contents() == [
        "door 3 to the living room"
    ]
    page.keyboard.press(key)
    turn(page, 3)
    assert text == []


def test_a_square_of_a_grid_is_walked_to(
    browser: Browser, server: Server, top: Path
) -> None:
    record = won(top, "grounding")
    plan = Plan("human", "grounding", episode=record.episode_id, out=top / "squares")
    page, text = start_page(browser, server, plan, wide=390)
    assert page.locator(".menu .idle").count() == 3, (
        "nothing is right ahead, the hands are empty"
    )
    cells = page.evaluate(
        "[...document.querySelectorAll('[data-cell]')].map((each) => each.dataset.cell)"
    )
    here = won(top, "grounding").trajectory.start["agent"]
    ahead = f"{here['x'] + 2:g},{-here['y']:g}"
    assert ahead in cells, "the actor faces east"
    click(page, f"[data-cell='{ahead}']")
    turn(page, 3)
    assert page.locator(f"[data-cell='{ahead}'] title").text_content() == "you are here"
    assert page.locator("#problem").is_hidden()
    page.locator("[data-cell]:not([data-words], [data-does])").first.dispatch_event(
        "click"
    )
    assert page.locator("#problem").inner_text() in (
        "you are here",
        "no known way there yet",
    )
    order = page.evaluate(
        "['figure', '.look', '#feedback', '.menu'].map("
        "(part) => document.querySelector(part).getBoundingClientRect().top)"
    )
    assert order == sorted(order)
    assert text == []


def test_a_street_is_walked_to_its_next_junction(
    browser: Browser, server: Server, top: Path
) -> None:
    record = won(top, "towns")
    plan = Plan("human", "towns", episode=record.episode_id, out=top / "onward")
    page, text = start_page(browser, server, plan)
    end = time.monotonic() + 60
    stands = 0
    while "intersection" not in page.locator(".around").inner_text():
        assert time.monotonic() < end
        asked = int(page.locator("#board").get_attribute("data-asking") or 0)
        named = page.locator(".around b").count()
        # A press goes on until there is a choice, or something that the task names.
        if asked > stands and (named or not stands):
            stands = asked
            page.keyboard.press("j")
        page.wait_for_timeout(50)
    done = page.locator(".log li").all_inner_texts()
    assert all(line.startswith("forward") for line in done)
    assert text == []


def test_an_action_keeps_its_digit(browser: Browser, server: Server, top: Path) -> None:
    plan = Plan("human", "houses", episode="3", out=top / "digits")
    page, text = start_page(browser, server, plan)
    keys = """() => Object.fromEntries([...document.querySelectorAll(".menu .act[data-key]")]
      .filter((press) => /\\d/.test(press.dataset.key) && !press.matches(".named"))
      .map((press) => [press.dataset.action, press.dataset.key]))"""
    first = page.evaluate(keys)
    page.locator(".menu .act[data-action^=goto]").first.click()
    turn(page, 2)
    page.keyboard.press("ArrowDown")  # back
    turn(page, 3)
    second = page.evaluate(keys)
    kept = first.keys() & second.keys()
    assert kept
    assert {action: first[action] for action in kept} == {
        action: second[action] for action in kept
    }
    assert text == []


def test_a_press_on_the_object_right_ahead_does_what_works_there(
    browser: Browser, server: Server, top: Path
) -> None:
    plan = Plan(
        "human", "grounding", episode="FindObjS6-test-s0-0000", out=top / "faced"
    )
    page, text = start_page(browser, server, plan, wide=390)
    page.keyboard.press("ArrowLeft")
    turn(page, 2)
    here = page.evaluate(
        "document.querySelector('.gridbox').getBoundingClientRect().toJSON()"
    )
    at = here["x"] + here["width"] / 2, here["y"] + here["height"] / 2
    page.mouse.click(*at)
    turn(page, 4)
    page.wait_for_selector("#problem.hint:text('Press it again: pick up, or open')")
    box = page.locator("[data-does]")
    assert box.count() == 1
    page.evaluate("scrollTo(0, 150)")
    top_of = "document.querySelector('.todo').getBoundingClientRect().top"
    before = page.evaluate(top_of)
    page.locator(".menu .act", has_text="drop").click()
    page.wait_for_selector("#problem.hint:text('No effect here: drop')")
    page.locator(".menu .act", has_text="turn left").dispatch_event("click")
    turn(page, 5)
    assert abs(page.evaluate(top_of) - before) < 2, "the buttons stay where they are"
    page.keyboard.press("ArrowRight")
    turn(page, 6)
    page.evaluate("scrollTo(0, 0)")
    click(page, "[data-does]")
    page.wait_for_selector("#choose[open]")
    page.keyboard.press("1")
    page.wait_for_selector("#end")
    assert "✓ Solved" in page.locator("#end").inner_text()
    assert text == []


@pytest.mark.parametrize("world", ["household", "rearrangement"])
def test_on_a_phone_the_moves_stand_at_the_bottom_of_the_screen(
    world: str, browser: Browser, server: Server, top: Path
) -> None:
    plan = Plan("human", world, episode="1", out=top / f"thumb-{world}")
    page, text = start_page(browser, server, plan, wide=390)
    page.wait_for_selector("body[data-ready]")
    assert page.evaluate("scrollY") == 0
    drawn = page.locator("svg.map").bounding_box()
    assert drawn is not None
    assert drawn["height"] > 0.15 * 900, "it stays readable"
    for down in (0, 200):
        page.evaluate(f"scrollTo(0, {down})")
        todo = page.locator(".todo").bounding_box()
        stop = page.locator(".menu .act[data-action=stop]").bounding_box()
        assert todo is not None
        assert stop is not None
        assert abs(todo["y"] + todo["height"] - 900) < 2
        assert todo["height"] < 0.47 * 900
        assert stop["y"] + stop["height"] <= 900, "below a longer list, in view"
    assert not page.locator("#say input").is_visible()
    page.locator(".menu .type").click()
    assert page.evaluate("document.activeElement.name") == "words"
    type_words(page, "turn left")
    page.keyboard.press("Enter")
    turn(page, 2)
    page.keyboard.press("Escape")
    assert not page.locator("#say input").is_visible()
    leave(page)
    assert text == []
    page.close()


def test_a_server_that_has_gone_is_noticed_and_found_again(
    browser: Browser, server: Server, top: Path
) -> None:
    record = won(top, "houses")
    plan = Plan("human", "houses", episode=record.episode_id, out=top / "gone")
    page, _ = start_page(browser, server, plan)
    page.context.set_offline(True)
    page.locator(".act[data-action^=goto]").first.click()
    page.wait_for_selector("#gone:not([hidden])")
    assert "The server does not answer" in page.locator("#gone").inner_text()
    page.locator("#retry").click()
    page.wait_for_selector("#gone:not([hidden])")
    page.context.set_offline(False)
    # The page may have tried by itself, and hidden it
    page.locator("#retry").dispatch_event("click")
    page.wait_for_selector("#gone", state="hidden")
    page.locator(".act[data-action^=goto]").first.click()
    turn(page, 2)
    leave(page)


def test_a_game_without_a_map_stands_in_the_middle_and_names_no_map(
    browser: Browser, server: Server, top: Path
) -> None:
    plan = Plan("human", "two_phase", out=top / "rooms")
    page, text = start_page(browser, server, plan)
    assert "map" not in page.locator("#feedback").inner_text()
    status = page.locator(".status").inner_text()
    assert "choice 1 of at most 2" in status
    assert "one wrong choice ends the game" in status
    box = page.locator(".menu").bounding_box()
    assert box is not None
    assert abs(box["x"] + box["width"] / 2 - 700) < 20
    assert wrong(page, axe=False) == []
    assert text == []


def test_in_company_talk_comes_first_and_a_verb_without_a_choice_has_no_row(
    browser: Browser, server: Server, top: Path
) -> None:
    plan = Plan("human", "ma_wah", episode="2", out=top / "company")
    table = server.games.begin(plan, "", "team")
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    text = listen(page, server.address.rstrip("/"))
    page.goto(f"{server.address}play/{table.name}/")
    turn(page, 1)
    assert "You are agent 1, with agent 2" in page.locator(".status").inner_text()
    rows = page.locator(".menu > *")
    assert "chat" in rows.first.inner_text()
    assert rows.evaluate_all("all => all.every((row) => row.querySelector('.act'))")
    leave(page)
    assert text == []
    page.close()


def test_where_the_task_names_most_of_a_home_no_button_is_bold_and_a_cut_text_unfolds(
    browser: Browser, server: Server, top: Path
) -> None:
    plan = Plan("human", "rearrangement", episode="2", out=top / "order")
    page, text = start_page(browser, server, plan, wide=390)
    assert page.locator(".menu .act.named").count() == 0
    fold = page.locator(".menu details").first
    number = int(fold.locator("summary").inner_text().split(" … ")[1].split()[0])
    assert fold.locator(".act").count() == number
    seen = page.locator(".look > .around")
    tall = "found => found.clientHeight"
    line = float(
        seen.evaluate("found => parseFloat(getComputedStyle(found).lineHeight)")
    )
    lines = seen.evaluate(tall) / line
    assert abs(lines - round(lines)) < 0.1, "no line is cut"
    page.locator(".look .unfold .more").click()
    assert seen.evaluate("found => found.scrollHeight <= found.clientHeight + 1")
    leave(page)
    assert text == []
    page.close()
