"""Maps and dials show what is there."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from helpers.parsed_page import Page
from helpers.shown import episode_page
from wayword.core.action import Action, Decision
from wayword.core.dataset import Task
from wayword.core.episode import Episode, JsonObject
from wayword.core.metric import Metric
from wayword.core.trajectory import GROUNDED, Note, Step, Trajectory
from wayword.core.world import Feedback
from wayword.datasets.houses import Houses
from wayword.runs.record import EpisodeRecord
from wayword.viewer import figures, maps
from wayword.viewer.data import Sources
from wayword.viewer.episode import Links
from wayword.viewer.maps import (
    babyai,
    drawing,
    household,
    indoor,
    letters_of,
    objectnav,
    street,
    two_phase,
    walks,
)
from wayword.viewer.maps.content import FALSE, Map, Shape, Waypoint
from wayword.viewer.markup import Html, Letters
from wayword.worlds.objectnav.world import ObjectNavReference
from wayword.worlds.two_phase.world import TwoPhaseReference


@pytest.mark.parametrize("elevation", [60.0, -60.0])
def test_an_edge_that_leads_up_or_down_is_as_long_as_its_way_over_the_ground(
    elevation: float,
) -> None:
    neighbor = {"heading": 30.0, "distance": 2.0, "elevation": elevation}
    heading, length = maps.heading_and_length(neighbor)
    assert heading == 30.0
    assert length == pytest.approx(1.0)


def houses_walk() -> tuple[Trajectory, Sources]:
    """The gold path of an episode, walked."""
    dataset = Houses("test", None, Houses.Settings(houses=1, episodes=3))
    task = dataset.tasks[0]
    world = dataset.world(task.episode)
    world.reset(task.episode)
    trajectory = Trajectory(task.episode.id, {"agent": world.pose("agent")})
    for place in task.reference.path[1:]:  # type: ignore[attr-defined]
        seen = figures.as_mapping(world.observe("agent"))
        plain = {
            **seen,
            "neighbors": [figures.as_mapping(way) for way in seen["neighbors"]],
        }
        action = Action("goto", (place,))
        feedback = world.step("agent", action)
        trajectory.steps.append(
            Step("agent", plain, Decision(action), feedback, world.pose("agent"))
        )
    return trajectory, Sources(dataset, {task.episode.id: task})


def test_places_have_the_same_letters_on_the_map_at_the_compass_and_in_texts() -> None:
    walk, sources = houses_walk()
    gold = sources.gold(walk.episode_id)
    letters = letters_of(sources, walk)
    assert [letters.of(place) for place in gold] == list("ABCDEFGHIJ"[: len(gold)])
    record = EpisodeRecord(walk.episode_id, {"sr": 1.0}, walk)
    page = Page.parse(episode_page(record, [], sources, "run", Links()))
    on_map = {e.text for e in page.all("text", class_="placeletter")}
    for place in gold:
        assert any(e.startswith(f"{letters.of(place)}, {place}") for e in on_map)
    named = {
        (e.attributes["title"], e.attributes["data-letter"]) for e in page.all("abbr")
    }
    assert named <= set(letters.by_place.items())
    assert (gold[1], "B") in named
    dials = [svg for svg in page.all("svg") if svg.attributes.get("class") == "dial"]
    assert "B" in dials[0].text
    first = page.all("b", class_="badge")[1]
    assert first.text == f"goto[{gold[1]}]", "what is copied is what was recorded"


def test_ids_become_letters_in_texts_and_nowhere_else() -> None:
    letters = Letters.of_ids(["c8a5e64e", "kitchen", "0bda68ae"])
    text = Html(
        '<p title="0bda68ae">c8a5e64e, kitchen, c8a5e64e1<title>0bda68ae</title></p>'
    )
    shown = '<abbr class="letter" title="c8a5e64e" data-letter="A">c8a5e64e</abbr>'
    assert letters.over(text) == str(text).replace("c8a5e64e,", f"{shown},")
    assert (
        letters.over(Html("<p>{}</p>").format("<c8a5e64e>"))
        == f"<p>&lt;{shown}&gt;</p>"
    )
    assert Letters().over(text) == text


def test_a_two_phase_test_shows_what_was_listed_chosen_and_right() -> None:
    first = {"phase": 1, "place": "office", "objects": ("desk", "hallway")}
    second = {"phase": 2, "place": "hallway", "objects": ("sink", "bed", "desk")}
    acts = (Action("go", ("hallway",)), Action("go", ("bed",)))
    steps = [
        Step("agent", seen, Decision(act), Feedback("ok"), {"place": "hallway"})
        for seen, act in zip((first, second), acts, strict=True)
    ]
    trajectory = Trajectory("1", {"agent": {"place": "office"}}, steps)
    task = Task(Episode("1", "Find it.", "home", {}), TwoPhaseReference("1", "kitchen"))
    page = Page.parse(two_phase.map(trajectory, Sources(None, {"1": task})) or "")
    assert [e.text for e in page.all("g", class_="taken")] == [
        "hallwayhallway",
        "bedbed",
    ]
    assert [e.text for e in page.all("g", class_="leads")] == [
        "hallwayhallway", "sink → kitchensink → kitchen",
    ], "the chosen one has led nowhere"  # fmt: skip
    stray = replace(steps[0], decision=Decision(Action("go", ("desk",))))
    (sign,) = page.all("i", class_="leads")
    assert "choice" in str(sign.attributes["class"]), "as on the map"
    alone = Trajectory("1", {"agent": {"place": "office"}}, [stray])
    page = Page.parse(two_phase.map(alone, Sources(None, {"1": task})) or "")
    assert [e.text for e in page.all("g", class_="leads")] == ["hallwayhallway"]


def test_a_reckoned_walk_is_the_true_one_moved() -> None:
    walk, sources = houses_walk()
    true = indoor.map(walk, sources)
    reckoned = indoor.map(walk, Sources())
    assert true is not None
    assert reckoned is not None
    pairs = list(zip(true.walks["agent"], reckoned.walks["agent"], strict=True))
    assert len(pairs) > 3
    moved = pairs[0][0].point
    for known, found in pairs:
        assert found.point[0] == pytest.approx(known.point[0] - moved[0], abs=1e-6)
        assert found.point[1] == pytest.approx(known.point[1] - moved[1], abs=1e-6)
    assert [name for name, _ in true.gold] == [
        stand.place for stand in true.walks["agent"]
    ]
    assert reckoned.gold == []


def test_a_street_without_coordinates_says_that_lengths_are_not_true() -> None:
    walked = (("a", 0), ("b", 90), ("b", 180))
    where = [{"panorama": name, "heading": heading} for name, heading in walked]
    steps = [
        Step(
            "agent",
            {"heading": 0, "angles": [-90, 0]},
            Decision(Action("forward")),
            Feedback(),
            w,
        )
        for w in where[1:]
    ]
    drawn = street.map(Trajectory("1", {"agent": where[0]}, steps), Sources())
    assert drawn is not None
    assert [s.point for s in drawn.walks["agent"]] == [(0, 0), pytest.approx((1, 0)),
                                                        pytest.approx((1, 0))]  # fmt: skip
    page = Page.parse(drawing.render(drawn))
    assert "not to scale" in page.all("ul")[0].text
    assert not page.all("path", class_="bar")


def test_actors_with_coordinates_get_a_line_each() -> None:
    start = {"ann": {"x": 0.0, "y": 0.0}, "bob": {"x": 3.0, "y": 1.0, "heading": 10.0}}
    steps = [
        Step(who, {}, Decision(Action("move_ahead")), Feedback(), {"x": x, "y": 2.0})
        for who, x in (("ann", 1.0), ("bob", 4.0), ("ann", 2.0))
    ]
    drawn = household.map(Trajectory("1", start, steps), Sources())
    assert drawn is not None
    assert [[s.step for s in walk] for walk in drawn.walks.values()] == [
        [0, 1, 3],
        [0, 2],
    ]
    [legend] = Page.parse(str(drawing.render(drawn))).all("ul", class_="legend")
    assert "walked by bob" in legend.text


def test_places_of_no_kind_have_no_map_and_a_line_says_why() -> None:
    """The poses of a user's world lack what a map needs; without poses there is nothing to say."""
    for pose in ({"room": "kitchen"}, {"x": math.inf, "y": "3"}):
        shown = maps.map_of(Trajectory("1", {"agent": pose}), Sources())
        assert isinstance(shown, Html)
        assert f"No map: pose() has {' and '.join(pose)}" in str(shown)
    hostile = Trajectory("1", {"agent": {"<img src=x>": 1}})
    assert "<img" not in str(maps.map_of(hostile, Sources()))
    assert maps.map_of(Trajectory("1", {}), Sources()) is None


@pytest.mark.parametrize(("family", "unit"), [("mine", ""), ("objectnav", "m")])
def test_only_known_families_count_in_metres(family: str, unit: str) -> None:
    walk = Trajectory("1", {"agent": {"x": 2.0, "y": 1.0}})
    drawn = maps.map_of(walk, Sources(family_name=family))
    assert isinstance(drawn, Map)
    assert drawn.unit == unit
    legend = str(drawing.render(drawn)).partition("legend")[2]
    assert ("N ↑" in legend) == bool(unit)
    assert ("data-unit" in legend) == bool(unit)


def test_a_dial_shows_the_way_that_was_taken() -> None:
    routes = [
        {"viewpoint": "a", "heading": 350.0},
        {"viewpoint": "b", "heading": 100.0},
    ]
    page = Page.parse(
        figures.observation({"heading": 10.0, "neighbors": routes}, "b", Letters())
    )
    assert "taken" in (page.all("g", class_="exit")[1].attributes["class"] or "")
    turned = [
        e.attributes["transform"] for e in page.all("g") if "transform" in e.attributes
    ]
    assert turned == ["rotate(-20.0)", "rotate(90.0)"]
    assert [e.text for e in page.all("title")] == ["a left 20°", "b right 90°"]


@pytest.mark.parametrize(
    ("walls", "text"),
    [
        ((3, None, 1), "ahead 3 steps, right 1 step"),
        ([None, None, None], "none in view"),
        ([None, 2], "–, 2"),
        ("x", "x"),
    ],
)
def test_walls_of_a_grid_are_in_words(walls: object, text: str) -> None:
    page = Page.parse(
        figures.observation({"heading": 90.0, "walls": walls}, "", Letters())
    )
    assert [e.text for e in page.all("dd")][1] == text


RATE = Metric("sr", "SR", "rate", "higher", "")
COUNT = Metric("x", "X", "count", None, "")


def test_numbers_as_people_read_them() -> None:
    metres = Metric("ne", "NE", "metres", "lower", "")
    cost = Metric("cost", "C", "dollars", None, "")
    took = Metric("seconds", "S", "seconds", None, "")
    assert figures.value(RATE, 0.4667) == "46.7%"
    assert figures.value(metres, 7.371) == "7.37 m"
    assert figures.value(metres, math.inf) == "∞"
    assert figures.value(metres, math.nan) == figures.value(metres, None) == "–"
    assert figures.value(cost, 0.00123) == "$0.0012"
    assert figures.value(took, 0.0301) == "30 ms"
    assert figures.interval(metres, {"low": 1.0, "high": 2.5}) == "95%: 1.00 to 2.50 m"
    assert figures.interval(metres, {"low": None, "high": None}).startswith("too few")
    assert "from 60 units" in figures.interval(metres, {"low": None, "high": None})
    few = figures.interval(RATE, {"low": None, "high": None})
    assert few == "too few for an interval", "a rate has bounds"


def test_a_card_has_one_count_of_steps() -> None:
    """The world's count begins at 0, that of its page at 1."""
    seen = {"panorama": "p", "heading": 90, "step": 5, "new": True}
    shown = str(figures.observation(seen, "", Letters({})))
    assert "heading" in shown
    assert "step" not in shown


def test_a_grid_is_cropped_to_its_walk_and_the_object_that_was_taken() -> None:
    walk = [Waypoint(n, "", (float(n), 0.0), 90.0) for n in range(8)]
    key = babyai.grid_item({"kind": "key", "color": "red"}, 8, 0)
    drawn = Map({"you": walk}, unit="squares")
    drawn.shapes = [babyai.cell((x, y), False) for x in range(30) for y in range(-9, 9)]
    drawn.shapes += [
        babyai.item_shape(each, 1, 7)
        for each in (key, babyai.GridItem(babyai.MEANT, "red key", "", 8, 0))
    ]
    babyai.crop(drawn)
    cells = [shape.points[0][0] + 0.5 for shape in drawn.shapes if shape.kind == "cell"]
    assert (min(cells), max(cells)) == (0, 10)
    assert [(s.first, s.last) for s in drawn.shapes if s.kind != "cell"] == [(0, 0)] * 2
    numbers = Page.parse(str(drawing.render(drawn))).all("text", class_="number")
    assert sorted(e.text for e in numbers) == ["5", "7", "S"], (
        "start, end and every fifth step"
    )


@pytest.mark.parametrize("kind", ["key", "ball", "box", "door"])
def test_a_taken_object_stays_on_its_first_square_wherever_it_is(kind: str) -> None:
    # Outlines are in tenths of a square, so their middles are off by rounding errors.
    for x in range(30):
        y = -(x % 7)
        item = babyai.grid_item({"kind": kind, "color": "red"}, x, y)
        mark = babyai.GridItem(babyai.MEANT, f"red {kind}", "", x, y)
        walk = [Waypoint(n, "", (float(n), 0.0), 90.0) for n in range(8)]
        drawn = Map({"you": walk}, unit="squares")
        drawn.shapes = [babyai.item_shape(each, 1, 7) for each in (item, mark)]
        babyai.crop(drawn)
        spans = [(shape.first, shape.last) for shape in drawn.shapes]
        assert spans == [(0, 0)] * 2, f"{kind} on {x}, {y}"


@pytest.mark.parametrize("heading", [330.0, 0.0])
def test_a_dart_points_where_a_failed_walk_without_a_gold_path_faced(
    heading: float,
) -> None:
    stops = [maps.Waypoint(n, "", (float(n), 0.0), 90.0) for n in range(2)]
    stops.append(maps.Waypoint(2, "", (1.0, 0.0), heading))
    walk = {"agent": stops}
    failed = Page.parse(str(maps.render(maps.Map(walk, failed=True))))
    (dart,) = failed.all("path", class_="facing")
    assert dart.attributes["transform"] == f"rotate({heading:.0f})"
    assert [e.text for e in failed.all("g", class_="pill")] == ["1·2 ✕"], (
        "next to it, by the script"
    )
    for other in (
        maps.Map(walk),
        maps.Map(walk, failed=True, gold=[("b", (3.0, 0.0))]),
    ):
        assert not Page.parse(str(maps.render(other))).all("path", class_="facing")
    (small,) = Page.parse(str(maps.render(maps.Map(walk, small=True)))).all(
        "svg", class_="sketch"
    )
    assert small.attributes["viewbox"]


def test_a_view_beyond_the_rooms_leaves_them_their_size() -> None:
    walk = {"agent": [Waypoint(0, "", (1.0, 1.0), 0.0)]}
    floor = Shape("area", [(0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (0.0, 4.0)], "floor")
    views = {"agent": {1: [(1.0, 1.0), (9.0, 9.0)]}}
    drawn = Map(walk, shapes=[floor], views=views)
    assert drawing._Paper(drawn).unit == drawing._Paper(Map(walk, shapes=[floor])).unit


def test_a_cone_is_of_the_moment_after_its_step() -> None:
    stops = [Waypoint(0, "a", (0.0, 0.0), 0.0), Waypoint(1, "b", (4.0, 0.0), 90.0)]
    page = Page.parse(str(maps.render(Map({"agent": stops}))))
    (cone,) = page.all("path", class_="pose")
    assert cone.attributes["data-step"] == "1"
    assert str(cone.attributes["transform"]).endswith("rotate(90)")


@pytest.mark.parametrize(
    ("heading", "steps"), [(90.0, [1, 2]), (180.0, [1])], ids=["stopped", "turned"]
)
def test_the_view_after_a_step_is_the_one_of_the_next_step(
    heading: float, steps: list[int]
) -> None:
    """After the last step nothing was observed, but a stop moves no camera."""
    rims = {1: [(0.0, 0.0)], 2: [(1.0, 0.0)]}
    walk = [Waypoint(n, "", (0.0, 0.0), 90.0) for n in range(2)]
    walk.append(Waypoint(2, "", (0.0, 0.0), heading))
    after = objectnav._views_after(walk, rims)
    assert list(after) == steps
    assert all(rim == rims[2] for rim in after.values())


@pytest.mark.parametrize(
    ("departed", "red", "words"),
    [(True, [2, 3, 4], "left the path"), (False, [2], "the mistake")],
)
def test_all_that_was_walked_after_the_path_was_left_for_good_is_red(
    departed: bool, red: list[int], words: str
) -> None:
    """Also where it crosses the path again: a, b, then back to a and away to x and y."""
    points = {"a": (0.0, 0.0), "b": (4.0, 0.0), "x": (0.0, 4.0), "y": (4.0, 4.0)}
    walk = [Waypoint(n, name, points[name], None) for n, name in enumerate("abaxy")]
    gold = [("a", points["a"]), ("b", points["b"])]
    drawn = Map({"agent": walk}, gold=gold, failed=True, mistake=2, departed=departed)
    page = Page.parse(str(maps.figure(drawn)))
    moves = page.all("g", class_="wrong")
    assert [
        int(e.attributes["data-step"]) for e in moves if "data-step" in e.attributes
    ] == red
    assert f"{words} (step 2)" in page.all("ul", class_="legend")[0].text


def test_a_stop_after_a_move_too_short_for_a_line_is_red_as_well() -> None:
    points = ((0.0, 0.0), (40.0, 0.0), (80.0, 0.0), (80.05, 0.0))
    walk = [Waypoint(n, f"p{n}", point, None) for n, point in enumerate(points)]
    gold = [("p0", points[0]), ("p1", points[1]), ("g", (40.0, 40.0))]
    drawn = Map({"agent": walk}, failed=True, mistake=2, departed=True, gold=gold)
    page = Page.parse(str(maps.figure(drawn)))
    red = [each.attributes["data-steps"] for each in page.all("g", class_="wrong")
           if "data-steps" in each.attributes]  # fmt: skip
    assert red == ["2", "3"]


def test_the_start_keeps_its_letter_next_to_the_end() -> None:
    points = ((0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (0.45, 0.15))
    walk = [Waypoint(n, f"p{n}", point, 90.0) for n, point in enumerate(points)]
    drawn = Map({"agent": walk}, failed=True)
    page = Page.parse(str(maps.figure(drawn)))
    numbers = [each.text for each in page.all("text", class_="number")]
    assert "S" in numbers


@pytest.mark.parametrize("moved", [True, False])
def test_a_stop_has_the_mark_of_the_end_and_no_ring(moved: bool) -> None:
    """The ring would say nothing that the end does not."""
    end = (4.0, 2.0) if moved else (4.0, 0.0)
    points = ((0.0, 0.0), (4.0, 0.0), end)
    walk = [Waypoint(n, f"p{n}", point, None) for n, point in enumerate(points)]
    drawn = Map({"agent": walk}, failed=True, mistake=2)
    page = Page.parse(str(maps.figure(drawn)))
    assert len(page.all("rect", class_="mistake")) == moved
    assert "✕" in str(maps.figure(drawn))


@pytest.mark.parametrize(("distance", "is_marked"), [(2.0, False), (6.0, True)])
def test_a_report_far_from_every_target_is_marked_where_it_was(
    distance: float, is_marked: bool
) -> None:
    pose = {"x": 0.0, "y": 0.0, "heading": 90.0}
    note = Note(GROUNDED, {"score": 0.5, "bearing": 0.0, "distance": distance})
    step = Step("a", pose, Decision(Action("stop")), Feedback(), pose, notes=[note])
    trajectory = Trajectory("1", {"a": pose}, [step])
    reference = ObjectNavReference("1", targets=frozenset(), middles=((2.5, 0.0),))
    task = Task(Episode("1", "Find it.", "s", {}), reference)
    drawn = objectnav.map(trajectory, Sources(None, {"1": task}))
    assert isinstance(drawn, Map)
    marks = [shape.points[0] for shape in drawn.shapes if shape.kind == FALSE]
    assert marks == ([pytest.approx((6.0, 0.0))] if is_marked else [])


@pytest.mark.parametrize(("solved", "mark"), [(True, "✓"), (False, "✕")])
def test_the_end_of_a_judged_walk_is_marked(solved: bool, mark: str) -> None:
    walk = [Waypoint(n, str(n), (float(4 * n), 0.0), None) for n in range(3)]
    drawn = Map({"agent": walk}, solved=solved, failed=not solved)
    page = Page.parse(str(maps.figure(drawn)))
    (end,) = page.all("tspan", class_="check" if solved else "cross")
    assert end.text.strip() == mark
    assert "the end" in page.all("ul", class_="legend")[0].text


@pytest.mark.parametrize("y", [None, "2", [], math.nan, 2.5])
def test_an_object_of_a_grid_without_a_square_is_left_out(y: object) -> None:
    """A record may have been changed by hand."""
    ball = {"kind": "ball", "color": "red", "x": 1}
    state: Any = {"things": [{**ball, "y": y}, {**ball, "y": 3}]}
    assert [(each.x, each.y) for each in babyai._objects(state)] == [(1, 3)]


@pytest.mark.parametrize(
    "change",
    [
        *(
            {key: value}
            for key in ("x", "y", "cell")
            for value in (None, "a", math.inf)
        ),
        *({"cell": value} for value in (0.0, -1.0)),
        *({"columns": value} for value in (None, "a", 3, 0)),
        *({"levels": value} for value in (None, "a", b"", b"xx", [1])),
    ],
)
def test_a_floor_that_was_changed_by_hand_is_left_out(change: JsonObject) -> None:
    recorded = {"x": 0.0, "y": 0.0, "cell": 0.05, "columns": 2}
    recorded["levels"] = zlib.compress(bytes(4))  # type: ignore[assignment]
    assert objectnav._floor(recorded) is not None
    assert objectnav._floor({**recorded, **change}) is None


@pytest.mark.parametrize(
    ("steps", "solved", "number"),
    [
        ((0, 1, 2, 3), False, "S–3"),
        ((0, 3, 6), False, "S·3·6"),
        ((4, 5, 9, 10), False, "4…10"),
        ((4, 5, 9, 10), True, "4"),
        ((4, 8, 11), True, "11"),
        ((4, 11), True, "11"),
        ((0, 11), True, "S"),
    ],
)
def test_a_stay_is_a_range_and_a_solved_walk_has_short_numbers(
    steps: tuple[int, ...], solved: bool, number: str
) -> None:
    stops = [Waypoint(step, "", (step, 0.0), None) for step in range(12)]
    drawn = Map({"a": stops}, solved=solved)
    markers = walks._Stops(drawn, stops, lambda point: point, [], has_dart=False)
    assert markers._number(steps) == number


@pytest.mark.parametrize(
    ("visits", "number"),
    [
        ((5, 9), "5·9"),
        ((1, 3, 5, 7, 9, 11), "1…11"),
        ((0, 1, 2, 10, 12), "S…12"),
        ((3, 4), ""),
    ],
)
def test_a_number_leaves_no_visit_out_without_an_ellipsis(
    visits: tuple[int, ...], number: str
) -> None:
    """On a grid every fifth step has a number, and those of the same square with it."""
    stops = [Waypoint(step, "", (step, 0.0), None) for step in range(14)]
    drawn = Map({"a": stops}, unit="square")
    markers = walks._Stops(drawn, stops, lambda point: point, [], has_dart=False)
    assert markers._number(visits) == number


@pytest.mark.parametrize(
    ("stops", "numbers", "dots"),
    [
        (8, [0, 1, 2, 3, 4, 5, 6, 7], True),
        (120, [*range(0, 101, 10), 101, 110, 119], False),
    ],
)
def test_a_long_walk_has_few_numbers_and_no_dots(
    stops: int, numbers: list[int], dots: bool
) -> None:
    """Those of the start, the end and the stop of the mistake stay."""
    walk = [Waypoint(n, f"p{n}", (5.0 * n, 0.0), None) for n in range(stops)]
    mistake = 102 if stops > 102 else 0
    drawn = Map({"a": walk}, failed=True, mistake=mistake, departed=True)
    markers = walks._Stops(drawn, walk, lambda point: point, [], has_dart=False)
    assert sorted(markers._chosen) == numbers
    assert markers._is_long != dots


@pytest.mark.parametrize(
    ("points", "starts"),
    [
        (((0, 0), (200, 0), (10, 10), (200, 0)), [0]),
        (((0, 0), (10, 0), (200, 0), (10, 0)), [0, 1, 3]),
        (((0, 0), (10, 0), (0, 0), (10, 0)), [0, 1, 2, 3]),
    ],
)
def test_only_an_end_next_to_the_start_shares_its_number(
    points: Sequence[tuple[float, float]], starts: list[int]
) -> None:
    walk = [Waypoint(n, f"p{n}", point, None) for n, point in enumerate(points)]
    drawn = Map({"a": walk}, failed=True)
    markers = walks._Stops(drawn, walk, lambda point: point, [], has_dart=False)
    first, *others = markers._groups()
    assert [stop.step for stop in first] == starts
    assert sum(map(len, others)) == len(walk) - len(starts)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("3", "after step 3"),
        ("S–5", "there from the start to step 5"),
        ("40–44", "there after steps 40 to 44"),
        ("S·2", "there several times"),
        ("2·5·9", "there several times"),
        ("2…14", "there several times, last after step 14"),
        ("S…14", "there several times, last after step 14"),
    ],
)
def test_the_legend_explains_each_form_of_number(text: str, words: str) -> None:
    marker = {"text": f"{text} ✕", "end": " ✕"}
    assert walks.number_signs([marker, marker]) == [(text, words)]
    assert walks.number_signs([{"text": "", "end": ""}, {"text": "S", "end": ""}]) == []


def test_the_legend_explains_letters_numbers_and_the_start_of_several_walks() -> None:
    first = "c8a5e64ee1ad43ae9a2e1dd33df5a4ba"
    points = [(0.0, 0.0), (4.0, 0.0), (4.0, 4.0)]
    names = [first, "hall", "kitchen"]
    walk = [
        Waypoint(number, *each, None)
        for number, each in enumerate(zip(names, points, strict=True))
    ]
    two = {"ann": walk, "bob": walk[::-1]}
    drawn = Map(two, letters=Letters.of_ids(names))
    [legend] = Page.parse(str(maps.figure(drawn))).all("ul", class_="legend")
    assert "Aa place" in legend.text
    assert "Sstart" in legend.text
    assert "2after step 2" in legend.text
