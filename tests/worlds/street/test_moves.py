"""The transition functions: the paper's Table 4, and each rule where it is first asked."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.gold_actions import gold_actions
from wayword.core.errors import UsageError
from wayword.worlds.street.graph import StreetGraph, build
from wayword.worlds.street.moves import Navigator, path_actions, shortest_actions

# Coming from 2, a junction at 3. The headings of the ways on are those of the paper's Figure 2
# (arriving at 20 degrees, the way at 50 closer than that at 345) and of like geometry.
JUNCTIONS = {
    "3-way": {"4": 290, "5": 50},
    "4-way": {"4": 290, "5": 345, "6": 50},
    "5-way": {"4": 270, "5": 340, "6": 40, "7": 110},
}

# Table 4: junction, the way out, original, modified environment. F, L, R: forward, left, right.
TABLE_4 = [
    ("3-way", "4", "FLF", "FLF"),
    ("3-way", "5", "FF", "FRF"),
    ("4-way", "4", "FLLF", "FLF"),
    ("4-way", "5", "FLF", "FF"),
    ("4-way", "6", "FF", "FRF"),
    ("5-way", "4", "FLLF", "FLLF"),
    ("5-way", "5", "FLF", "FLF"),
    ("5-way", "6", "FF", "FRF"),
    ("5-way", "7", "FRF", "FRRF"),
]
# Where four ways lie ahead, the released navigator (and with it every published number) takes the
# middle one closer to the heading as "forward"; Table 4 has neither middle one as forward.
RELEASED = {("5-way", "6"): "FF", ("5-way", "7"): "FRF"}

WORDS = {"F": "forward", "L": "left", "R": "right", "T": "turn_around", "S": "stop"}


def junction(name: str) -> StreetGraph:
    """Panorama 3 with its ways on, 2 before it, a link back along each way, and 1 before 2."""
    ahead = JUNCTIONS[name]
    links: list[tuple[str, float, str]] = [
        ("1", 20, "2"),
        ("2", 200, "1"),
        ("2", 20, "3"),
    ]
    links += [("3", 200, "2")]
    for end, heading in ahead.items():
        links += [("3", heading, end), (end, heading + 180, "3")]
    return build(name, ["1", "2", "3", *ahead], links)


def walk(
    graph: StreetGraph, transition: str, start: tuple[str, int], letters: str
) -> list[str]:
    navigator = Navigator(graph, transition)
    state = navigator.start(graph.index[start[0]], start[1])
    places = []
    for letter in letters:
        state = navigator.step(state, WORDS[letter])
        stand = navigator.stand(state)
        places.append(f"{graph.ids[stand.panorama]}@{stand.heading}")
    return places


@pytest.mark.parametrize(("name", "end", "letters", "_"), TABLE_4)
def test_table_4_in_the_original_environment(
    name: str, end: str, letters: str, _: str
) -> None:
    places = walk(junction(name), "original", ("2", 20), letters)
    assert places[0].startswith("3@")
    assert places[-1].startswith(f"{end}@")
    assert all(place.startswith("3@") for place in places[:-1])


@pytest.mark.parametrize(("name", "end", "_", "letters"), TABLE_4)
def test_table_4_in_the_modified_environment(
    name: str, end: str, _: str, letters: str
) -> None:
    for transition in ("modified", "paper"):
        if transition == "modified":
            reply = RELEASED.get((name, end), letters)
        else:
            reply = letters
        places = walk(junction(name), transition, ("2", 20), reply)
        assert places[0] == "3@20", "the heading must not be re-aligned on arrival"
        assert places[-1] == f"{end}@{JUNCTIONS[name][end]}"
        assert all(place.startswith("3@") for place in places[:-1])


def test_the_5_way_rows_of_table_4_lead_elsewhere_in_the_released_navigator() -> None:
    assert walk(junction("5-way"), "modified", ("2", 20), "FRF")[-1] == "7@110"
    assert walk(junction("5-way"), "paper", ("2", 20), "FRF")[-1] == "6@40"


def test_figure_2_forward_four_times_turns_right_only_in_the_original() -> None:
    graph = junction("4-way")
    assert walk(graph, "original", ("2", 20), "FF")[-1].startswith("6@")
    assert walk(graph, "modified", ("2", 20), "FF")[-1] == "5@345"


def test_stop_changes_nothing() -> None:
    for transition in ("original", "modified", "paper"):
        assert walk(junction("4-way"), transition, ("3", 17), "S") == ["3@17"]


def test_turn_around_faces_the_edge_closest_to_the_opposite() -> None:
    assert walk(junction("3-way"), "modified", ("2", 20), "FT") == ["3@20", "3@200"]
    assert walk(junction("3-way"), "modified", ("2", 20), "FTT") == [
        "3@20",
        "3@200",
        "3@50",
    ]


def test_two_routes_forward_follows_the_bend_and_a_turn_only_turns() -> None:
    graph = build(
        "bend", ["a", "b", "c"], [("a", 0, "b"), ("b", 180, "a"), ("b", 70, "c")]
    )
    assert walk(graph, "modified", ("a", 0), "FF") == ["b@0", "c@70"]
    assert walk(graph, "modified", ("a", 0), "FLR") == ["b@0", "b@70", "b@70"]


def test_a_dead_end_holds_who_has_just_arrived() -> None:
    graph = build("end", ["a", "b"], [("a", 0, "b"), ("b", 175, "a")])
    assert walk(graph, "modified", ("a", 0), "FFLR") == ["b@0"] * 4
    assert walk(graph, "modified", ("a", 0), "FTF") == ["b@0", "b@175", "a@175"]


def test_after_a_turn_in_place_the_edge_back_counts_again() -> None:
    graph = junction("4-way")
    assert walk(graph, "modified", ("2", 20), "FLL") == ["3@20", "3@290", "3@200"]
    assert walk(graph, "modified", ("2", 20), "FRRR") == [
        "3@20",
        "3@50",
        "3@200",
        "3@290",
    ]


def test_original_turns_on_a_street_segment_turn_around() -> None:
    graph = build(
        "bend", ["a", "b", "c"], [("a", 0, "b"), ("b", 180, "a"), ("b", 70, "c")]
    )
    assert walk(graph, "original", ("a", 0), "F") == ["b@70"]
    assert walk(graph, "original", ("a", 0), "FLL") == ["b@70", "b@180", "b@70"]


def test_original_forward_from_a_start_off_every_edge_takes_the_closest() -> None:
    # The ways out of 3 are at 290, 50 and 200; from 60 the one at 50 is closest, 200 next to right.
    assert walk(junction("3-way"), "original", ("3", 60), "F")[-1].startswith("5@")


def test_a_place_without_routes_is_left_by_no_action() -> None:
    graph = build("island", ["a"], [])
    assert walk(graph, "modified", ("a", 5), "FLRTS") == ["a@5"] * 5


def test_the_closest_way_out_and_where_there_is_none_the_heading_in_integer_degrees() -> (
    None
):
    crossing = Navigator(
        build("fork", ["a", "b", "c"], [("a", 350, "b"), ("a", 30, "c")])
    )
    assert [crossing.closest(0, h) for h in (9.0, 10.0, 11.0, 171.0)] == [
        350,
        350,
        30,
        30,
    ]
    island = Navigator(build("island", ["a"], []))
    assert [island.closest(0, h) for h in (4.6, 359.4, 359.6)] == [5, 359, 0]


def test_unknown_names_are_refused() -> None:
    with pytest.raises(UsageError, match="did you mean 'modified'"):
        Navigator(junction("3-way"), "modifed")
    with pytest.raises(ValueError, match="'hop' is not a street action"):
        Navigator(junction("3-way")).step(0, "hop")


@pytest.mark.parametrize("transition", ["original", "modified", "paper"])
@pytest.mark.parametrize("name", JUNCTIONS)
def test_gold_actions_walk_the_path(name: str, transition: str) -> None:
    graph = junction(name)
    for end in JUNCTIONS[name]:
        path = ["1", "2", "3", end]
        words = gold_actions(graph, path, 23.0, transition)
        assert words[-1] == "stop"
        navigator = Navigator(graph, transition)
        state = navigator.start(0, 20)
        walked = ["1"]
        for word in words:
            state = navigator.step(state, word)
            here = graph.ids[navigator.stand(state).panorama]
            walked += [here] if here != walked[-1] else []
        assert walked == path


def test_gold_actions_refuse_a_path_that_is_none() -> None:
    with pytest.raises(ValueError, match="has no link to"):
        gold_actions(junction("3-way"), ["1", "3"], 20)


@settings(deadline=None)
@given(
    headings=st.lists(st.integers(0, 359), min_size=2, max_size=8, unique=True),
    arriving=st.integers(0, 359),
    transition=st.sampled_from(["original", "modified", "paper"]),
)
def test_every_way_out_of_every_junction_can_be_taken(
    headings: list[int], arriving: int, transition: str
) -> None:
    back, *ahead = headings
    ends = [str(number) for number in range(len(ahead))]
    links: list[tuple[str, float, str]] = [
        ("from", arriving, "at"),
        ("at", back, "from"),
    ]
    links += [("at", heading, end) for heading, end in zip(ahead, ends, strict=True)]
    graph = build("junction", ["from", "at", *ends], links)
    for end in ends:
        words = gold_actions(graph, ["from", "at", end], arriving, transition)
        letters = "".join(word[0].upper() for word in words)
        assert walk(graph, transition, ("from", arriving), letters)[-1].startswith(
            f"{end}@"
        )


def test_shortest_actions_take_the_shorter_way_round() -> None:
    ring = ["n", "e", "s", "w"]
    links: list[tuple[str, float, str]] = []
    for i, here in enumerate(ring):
        links += [
            (here, 90 * i + 90, ring[(i + 1) % 4]),
            (here, 90 * i + 180, ring[i - 1]),
        ]
    graph = build("ring", ring, links)
    navigator = Navigator(graph)
    words = shortest_actions(navigator, navigator.start(0, 90), graph.index["w"])
    assert words == ["turn_around", "forward"]
    assert shortest_actions(navigator, navigator.start(0, 90), 0) == []


def test_of_two_shortest_routes_the_one_straight_on_is_taken_at_the_start() -> None:
    # Both ways round the block are two links; the file lists the one north first.
    links: list[tuple[str, float, str]] = [
        ("a", 0, "b"),
        ("a", 90, "c"),
        ("b", 90, "d"),
    ]
    graph = build("block", ["a", "b", "c", "d"], [*links, ("c", 0, "d")])
    navigator = Navigator(graph)
    for heading, first in ((0, "b"), (90, "c"), (45, "b")):
        state = navigator.start(0, heading)
        for word in shortest_actions(navigator, state, graph.index["d"]):
            state = navigator.step(state, word)
            if navigator.stand(state).panorama:
                break
        assert graph.ids[navigator.stand(state).panorama] == first
    with pytest.raises(
        ValueError, match="the path does not start at the current panorama"
    ):
        path_actions(navigator, navigator.start(0, 0), [1, 3])


def test_shortest_actions_say_when_there_is_no_way() -> None:
    graph = build("oneway", ["a", "b"], [("a", 0, "b")])
    navigator = Navigator(graph)
    with pytest.raises(ValueError, match="no path from b to a"):
        shortest_actions(navigator, navigator.start(1, 0), 0)
