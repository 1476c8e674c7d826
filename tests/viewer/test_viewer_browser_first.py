"""The first screen of a failed episode: what failed, where and why, in a window of either size."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page

from helpers.in_a_browser import CHROMIUM, NEXT_FRAME, wrong
from wayword import viewer
from wayword.runs.plan import Plan
from wayword.runs.running import run
from wayword.viewer import maps
from wayword.viewer.app import Server
from wayword.viewer.content import Content
from wayword.viewer.library import Library
from wayword.viewer.maps.content import Map, Shape, Waypoint, room_label

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
WITH_GOAL_NAMES = ("iqa", "rearrangement", "ma_household")
# Maps that are larger than a phone, which shows the end of the walk.
LARGE = ("household", "rearrangement", "ma_household")
SIZES = ((1400, 900), (390, 844))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    top = tmp_path_factory.mktemp("first") / "runs"
    for on in FAILED:
        run(Plan("random", on, limit=1, first=True, max_steps=8, out=top / on))
    return Library([top])


@pytest.fixture(scope="module")
def server(library: Library) -> Iterator[Server]:
    with Server(Content(library)) as running, running.in_background():
        yield running


ON_THEIR_SIDE = """() => {
  // of each place that the ring hides: the cosine between its direction and that of its letter
  const middle = ({ left, right, top, bottom }) => [(left + right) / 2, (top + bottom) / 2];
  const map = document.querySelector("svg.map");
  const ring = map.querySelector(".mistake")?.getBoundingClientRect();
  const k = map.getScreenCTM();
  const found = [];
  for (const letter of ring ? map.querySelectorAll(".placeletter.named") : []) {
    const [x, y] = middle(ring);
    const [x1, y1] = letter.dataset.box.split(" ").map(Number);
    const [east, south] = [k.a * x1 + k.e - x, k.d * y1 + k.f - y];
    const off = Math.hypot(east, south);
    if (off < 1 || Math.abs(east) > ring.width / 2 || Math.abs(south) > ring.height / 2) continue;
    const [right, down] = middle(letter.getBoundingClientRect());
    found.push((east * (right - x) + south * (down - y)) / off / Math.hypot(right - x, down - y));
  }
  return found;
}"""


class Screen:
    """The page of a run's first failed episode, opened in windows of several sizes."""

    def __init__(
        self, browser: Browser, server: Server, library: Library, on: str
    ) -> None:
        failed = library.rows(on).unsolved()[0]
        self._address = f"{server.address}run/{on}/episode?id={quote(failed)}"
        self.page = browser.new_page()

    def open(self, wide: int, tall: int) -> Page:
        self.page.set_viewport_size({"width": wide, "height": tall})
        self.page.goto(self._address)
        self.page.wait_for_selector("body[data-experts]")
        return self.page


@pytest.mark.parametrize("on", FAILED)
def test_a_failed_episode_opens_on_its_mistake_with_the_map_in_view(
    on: str, browser: Browser, server: Server, library: Library
) -> None:
    screen = Screen(browser, server, library, on)
    for wide, tall in SIZES:
        page = screen.open(wide, tall)
        check_mistake(page, on, tall)
        if on in WITH_GOAL_NAMES:
            check_goal_names(page)
        if on == "apartments" and wide == 1400:
            named = page.locator("svg.map .goalname:visible").count()
            assert named, "goal objects are named on the map"
        if on in LARGE and wide == 390:
            check_end_and_legend(page)
        assert wrong(page, axe=False) == [], f"geometry, {wide} px"


def check_mistake(page: Page, on: str, tall: int) -> None:
    """The page opens on the mistake, in a sentence, on the map and at its step."""
    assert page.evaluate("scrollY") == 0, "the page opens at its top"
    sentence = page.locator(".mistake-words")
    assert sentence.count() == 1, "one sentence names the mistake"
    box = sentence.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] < tall / 3, "the sentence is in the top third"
    drawn = page.locator("svg.map").bounding_box()
    assert drawn is not None
    shown = min(tall, drawn["y"] + drawn["height"]) - drawn["y"]
    assert shown > 0.7 * drawn["height"], "the map is above the fold"
    count = page.evaluate("""() => {
      const counts = {};
      for (const [name, selector] of Object.entries({
        future: "svg.map .future", instruction: ".instruction:not(.private)",
        cross: "svg.map .cross", walk: "svg.map g.walk", star: "svg.map .star",
        mistake: "svg.map .mistake", step: ".step",
      })) counts[name] = document.querySelectorAll(selector).length;
      return counts;
    }""")
    assert count["future"] == 0, "the whole walk is opaque"
    assert count["instruction"] <= 1, "the instruction stands once"
    if on != "two_phase":
        assert count["cross"] == count["walk"], "each walk ends at a cross"
    if on in WITH_GOLD:
        assert count["star"] == 1, "the goal has a star"
        limit = page.locator(".scrubber button[data-key=f]").inner_text() == "limit"
        assert count["mistake"] == int(not limit), "a mistake has a ring, a limit none"
    step = page.locator("main").get_attribute("data-opens")
    named = page.locator("svg.map .named")
    assert page.locator("svg.map .named:visible").count() == named.count(), (
        "places of the sentence keep their letters"
    )
    assert step is not None, "a failed episode opens on a step"
    assert page.locator(".step:visible .same").count() < count["step"]
    assert page.locator(f"#step-{step} .same").count() == 0, (
        "not marked as the expert's"
    )
    if step:
        if on != "two_phase":  # one step needs no time line
            assert page.locator("#now").input_value() == step, "the cursor is there"
        first = page.locator(".step:visible h2").first.inner_text()
        assert first == f"Step {step}", "the first card is that of the mistake"
        if 1 < int(step) == count["step"]:
            lines = page.locator(".recap li a").all_inner_texts()
            assert lines[0].startswith("1"), "what it did before its last step"
            assert lines[-1].split("–")[-1] == str(int(step) - 1)
    aside = page.evaluate(ON_THEIR_SIDE)
    assert all(cosine > 0.5 for cosine in aside), "next to the ring on its own side"


STATIC = Path(viewer.__file__).parent / "static"
NAMES = """() => [...document.querySelectorAll(".goalname, .roomname, .pill")]
  .filter((name) => !name.matches(".under") && name.getBBox().width).map((name) => {
    const { left, top, right, bottom } = name.getBoundingClientRect();
    return [name.textContent, left, top, right, bottom];
  })"""


def names_on(browser: Browser, drawn: Map, width: int = 390) -> dict[str, list[float]]:
    """Return the boxes of the names that the script places on a map."""
    page = browser.new_page(viewport={"width": width, "height": 844})
    style = (STATIC / "page.css").read_text()
    script = (STATIC / "maps.js").read_text()
    page.set_content(
        f"<style>{style}</style><main>{maps.figure(drawn)}</main><script>{script};"
        "unclutter(document.querySelectorAll('svg.map'))</script>"
    )
    placed = page.evaluate(NAMES)
    page.close()
    return {text.strip(): box for text, *box in placed}


def room(west: float, east: float, name: str) -> list[Shape]:
    """Return a room four metres deep with its name."""
    corners = [(west, 0.0), (east, 0.0), (east, 4.0), (west, 4.0)]
    return [Shape("area", corners, "floor"), room_label(name, corners)]


def goal(x: float, y: float, name: str) -> Shape:
    """Return the mark of a goal object."""
    return Shape("dot", [(x, y)], "object goal-object", name, name, size=4.5)


WALK = {"agent": [Waypoint(0, "", (6.0, 1.0), 0.0), Waypoint(1, "", (6.0, 2.0), 0.0)]}


def test_a_name_stands_in_no_other_room_than_its_mark(browser: Browser) -> None:
    """Also where names of what lies on a piece of furniture take the room below it."""
    counter = Shape(
        "rect",
        [(4.3, 3.6), (5.9, 4.0)],
        "furniture destination",
        "counter top 1",
        "counter top 1",
    )
    shapes = [*room(0, 4, "bedroom"), *room(4, 8, "kitchen"), counter]
    shapes += [goal(4.5, 3.7, "pot 1"), goal(4.7, 3.8, "bread 1")]
    placed = names_on(browser, Map(WALK, shapes=shapes))
    left, _, right, _ = placed["counter top 1"]
    bedroom_side = placed["kitchen"][0]
    assert (left + right) / 2 > bedroom_side - 20


def test_names_of_goals_cover_no_name(browser: Browser) -> None:
    shapes = room(0, 8, "kitchen")
    for number in range(4):
        shapes.append(goal(1 + 0.9 * number, 3.0, f"dining table {number}"))
    boxes = [*names_on(browser, Map(WALK, shapes=shapes)).values()]
    assert len(boxes) > 3
    for one, other in combinations(boxes, 2):
        across = min(one[2], other[2]) - max(one[0], other[0])
        down = min(one[3], other[3]) - max(one[1], other[1])
        assert min(across, down) < 4, "halos may touch"


def test_more_than_two_goals_that_lie_together_have_one_short_name(
    browser: Browser,
) -> None:
    kinds = ("bowl 1", "spoon 1", "spoon 2", "mug 1")
    shapes = room(0, 8, "kitchen")
    shapes += [goal(2 + 0.2 * n, 3.0, name) for n, name in enumerate(kinds)]
    assert "4 objects" in names_on(browser, Map(WALK, shapes=shapes), width=1200)


def check_end_and_legend(page: Page) -> None:
    """The end of the walk is in view, and the legend has only what is."""
    frame = page.locator("svg.map").bounding_box()
    # a walk that could not have succeeded within its limit has no ring, but an end
    ring = page.locator("svg.map .mistake, svg.map .cross").first.bounding_box()
    assert frame is not None
    assert ring is not None
    in_width = frame["x"] <= ring["x"] <= frame["x"] + frame["width"] - ring["width"]
    in_height = frame["y"] <= ring["y"] <= frame["y"] + frame["height"] - ring["height"]
    assert in_width, "the end is within the width of the map"
    assert in_height, "the end is within the height of the map"
    outside = page.evaluate("""() => {
      const map = document.querySelector("svg.map").getBoundingClientRect();
      return [...document.querySelectorAll("svg.map .facing")].filter((dart) => {
        const box = dart.getBoundingClientRect();
        return box.left < map.left || box.right > map.right
          || box.top < map.top || box.bottom > map.bottom;
      }).length;
    }""")
    assert outside == 0, "the end of every actor is in view"
    absent = page.evaluate("""() => {
      const map = document.querySelector("svg.map"), frame = map.getBoundingClientRect();
      const meets = (box) => box.left < frame.right && frame.left < box.right
        && box.top < frame.bottom && frame.top < box.bottom;
      return [...document.querySelectorAll("aside .legend li:not([hidden]) i:not(.scale)")]
        .filter((sign) => ![...map.querySelectorAll("." + [...sign.classList].at(-1))]
          .some((part) => meets(part.getBoundingClientRect()))).map((sign) => sign.className);
    }""")
    assert absent == [], "signs of the legend that the map does not show"
    tall = "document.querySelector('aside .legend').offsetHeight"
    assert page.evaluate(tall) <= 30, "the legend is one line"
    unfold = page.locator("aside .legend .unfold button:visible")
    if unfold.count():
        unfold.first.click()
        assert unfold.first.inner_text() == "less"
        assert page.evaluate(tall) > 30, "the rest unfolds"
        unfold.first.click()
    lines = page.locator(".mistake-words").evaluate("""words => {
      const size = parseFloat(getComputedStyle(words).lineHeight);
      return Math.round(words.getBoundingClientRect().height / size);
    }""")
    assert lines <= 3, "the sentence has at most three lines"


def check_goal_names(page: Page) -> None:
    """A goal object is named at its mark or by a line."""
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
    assert names, "goal objects are named on the map"
    assert astray <= lines, "a name away from its mark has a line"
    assert views == 0, "no name in a view that its object is not in"


def test_steps_before_the_mistake_are_folded_until_they_are_requested(
    browser: Browser, server: Server, library: Library
) -> None:
    page = Screen(browser, server, library, "iqa").open(1400, 900)
    mistake = int(page.locator("main").get_attribute("data-mistake") or 0)
    assert mistake > 1, "the answer comes last"
    assert page.locator(".step:visible").count() == 1
    page.keyboard.press("ArrowLeft")
    assert page.locator(".step:visible").count() == mistake
    assert page.locator("#now").input_value() == str(mistake - 1)
    doors = page.eval_on_selector_all(
        ".map .leaf.on", "all => all.map((e) => [e.dataset.first, e.dataset.last])"
    )
    # Step n leads to the state before step n + 1.
    assert doors
    assert all(int(first) <= mistake <= int(last) for first, last in doors)
    held = page.locator(".pose.now").get_attribute("data-step")
    assert held == str(mistake - 1)
    page.keyboard.press("f")
    assert page.locator("#now").input_value() == str(mistake)
    page.keyboard.press("End")
    page.reload()
    page.wait_for_selector("body[data-experts]")
    assert page.locator(".step:visible").count() == mistake, "the address names a step"


def test_on_a_phone_the_map_stays_while_steps_scroll(
    browser: Browser, server: Server, library: Library
) -> None:
    page = Screen(browser, server, library, "houses").open(390, 844)
    page.locator(".step").last.scroll_into_view_if_needed()
    page.evaluate(NEXT_FRAME)
    drawn = page.locator("svg.map").bounding_box()
    assert drawn is not None
    assert 0 <= drawn["y"] < 422


def test_on_a_phone_the_map_shows_all_that_is_marked(
    browser: Browser, server: Server, library: Library
) -> None:
    page = Screen(browser, server, library, "rearrangement").open(390, 844)
    frame = page.locator("svg.map").bounding_box()
    assert frame is not None
    marks = page.locator(
        "svg.map :is(.goal-object, .destination, .stop:not(.hidden)):not(text):visible"
    )
    boxes = [mark.bounding_box() for mark in marks.all()]
    assert len(boxes) > 2
    for box in boxes:
        assert box is not None
        assert frame["x"] <= box["x"] + box["width"] / 2 <= frame["x"] + frame["width"]
        assert (
            frame["y"] <= box["y"] + box["height"] / 2 <= frame["y"] + frame["height"]
        )


def test_on_a_phone_a_clause_in_view_is_not_quoted_as_well(
    browser: Browser, server: Server, library: Library
) -> None:
    screen = Screen(browser, server, library, "houses")
    for wide, tall in SIZES:
        page = screen.open(wide, tall)
        assert page.locator(".instruction .violated").is_visible()
        quote = page.locator(".mistake-rest .quote")
        assert quote.is_visible() == (wide > 860)


def test_on_a_phone_the_button_for_more_goals_covers_none(
    browser: Browser, server: Server, library: Library
) -> None:
    page = Screen(browser, server, library, "rearrangement").open(320, 640)
    covered = page.evaluate("""() => {
      const more = document.querySelector(".conditions > .copy").getBoundingClientRect();
      return [...document.querySelectorAll(".conditions li")].filter((each) => {
        const words = document.createRange();
        words.selectNodeContents(each);
        return [...words.getClientRects()].some((box) => box.right > more.left
          && box.bottom > more.top + 1 && box.top < more.bottom - 1);
      }).length;
    }""")
    assert covered == 0


def test_names_of_goals_on_one_line_do_not_read_as_one(
    browser: Browser, tmp_path: Path
) -> None:
    episode = "home-test-s0-r5-0003_read_book_1"
    run(Plan("random", "ma_wah", episodes=(episode,), out=tmp_path / "books"))
    library = Library([tmp_path])
    with Server(Content(library)) as server, server.in_background():
        page = Screen(browser, server, library, "books").open(1400, 900)
        gaps = page.evaluate("""() => {
          const boxes = [...document.querySelectorAll("svg.map .goalname:not(.under)")]
            .map((each) => each.getBoundingClientRect()).filter((box) => box.width);
          return boxes.flatMap((a) => boxes.filter((b) => a.right <= b.left + 1
            && a.top < b.bottom && b.top < a.bottom).map((b) => b.left - a.right));
        }""")
    assert min([*gaps, 9]) > 5


def test_on_a_phone_the_button_below_the_list_of_games_is_in_view(
    browser: Browser, server: Server
) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto(server.address + "play")
    page.wait_for_selector("body[data-ready]")
    button = page.locator("#begin > button[type=submit]").bounding_box()
    assert button is not None
    assert button["y"] + button["height"] <= 844
    assert button["width"] > 340, "it covers whole lines of the list, no parts"


def test_on_a_phone_filters_of_episodes_take_one_line(
    browser: Browser, server: Server
) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto(server.address + "run/houses/")
    page.wait_for_selector("body[data-ready]")
    bar = page.locator(".bar")
    closed = bar.bounding_box()
    assert closed is not None
    assert closed["height"] < 60
    page.locator("#tune").click()
    assert page.locator("#outcome").is_visible()
    page.set_viewport_size({"width": 1400, "height": 900})
    assert not page.locator("#tune").is_visible()
    assert page.locator("#outcome").is_visible()


def test_the_home_page_names_its_costs_and_aligns_its_heads(
    browser: Browser, server: Server
) -> None:
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.route("**/metrics", lambda route: None)  # intervals that take their time
    page.goto(server.address + "?all=1")
    page.wait_for_selector("body[data-ready]")
    assert {*page.locator("#runs .interval").all_inner_texts()} == {"95%: …"}
    heads = page.locator("#runs thead > tr > *")
    assert "Cost an episode" in heads.all_inner_texts()
    cells = page.locator("#runs tr[data-run]").first.locator("> *")
    align = "all => all.map((each) => getComputedStyle(each).textAlign)"
    assert heads.evaluate_all(align) == cells.evaluate_all(align)
    assert (
        page.locator(".lead").first.inner_text().startswith(f"{len(FAILED)} runs in ")
    )


def test_of_a_long_walk_the_steps_around_the_shown_one_stand_out(
    browser: Browser, tmp_path: Path
) -> None:
    episode = "home-test-s0-r5-0006_pick_cool_then_place_in_recep_2"
    run(Plan("expert", "household", episodes=(episode,), out=tmp_path / "long"))
    with (
        Server(Content(Library([tmp_path]))) as server,
        server.in_background(),
    ):
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.goto(f"{server.address}run/long/episode?id={quote(episode)}")
        page.wait_for_selector("body[data-ready]", timeout=20_000)
        last = page.locator(".step").count()
        assert last > 100
        for shown, key in ((last, "End"), (1, "Home")):
            page.keyboard.press(key)
            assert page.locator("#now").input_value() == str(shown)
            gaps = page.evaluate(f"""() => [...document.querySelectorAll(".map .move")].map(
              (move) => [Math.abs(move.dataset.step - {shown}), move.matches(".far")])""")
            assert {far for _, far in gaps} == {True, False}
            assert max(gap for gap, far in gaps if not far) <= 15
            assert min(gap for gap, far in gaps if far) > 10
