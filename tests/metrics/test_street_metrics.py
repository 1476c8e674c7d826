"""Street metrics by hand on a small junction, the two KPAs where they differ, and the baselines."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from wayword.agents.baselines.oracles import GoldOracle
from wayword.agents.baselines.simple import ForwardAgent
from wayword.core.action import Action, ActionSpace, Decision
from wayword.core.agent import Toolkit
from wayword.core.dataset import Dataset, SolvableWalks, Task
from wayword.core.episode import Episode, NoSettings, PathReference, Reference
from wayword.core.errors import DataError, UsageError
from wayword.core.trajectory import Trajectory
from wayword.core.world import Observation
from wayword.metrics.predictions import trajectory_from_places
from wayword.metrics.scoring import Judged, PlaceScorer, scorer
from wayword.worlds.indoor.graph import Neighbor
from wayword.worlds.indoor.world import IndoorObservation
from wayword.worlds.street.graph import StreetGraph, build
from wayword.worlds.street.moves import Navigator
from wayword.worlds.street.world import StreetWorld

ROUTE = ("a", "b", "c", "d", "e")


def town() -> StreetGraph:
    """a b c d e in a row, c a junction with f and g, d a junction with h; x is one-way into e."""
    links: list[tuple[str, float, str]] = [("x", 180, "e")]
    for here, there in ("ab", "bc", "cd", "de"):
        links += [(here, 0, there), (there, 180, here)]
    for here, there, heading in (("c", "f", 90), ("f", "g", 90), ("d", "h", 270)):
        links += [(here, heading, there), (there, (heading + 180) % 360, here)]
    return build("town", list("abcdefghx"), links)


GRAPH = town()
DATASET = cast("Dataset", SimpleNamespace(graph=lambda scene: GRAPH))


def task(route: tuple[str, ...] = ROUTE) -> Task:
    episode = Episode("1", "Go.", "town", {"panorama": route[0], "heading": 0})
    return Task(episode, PathReference("1", route))


def scores(
    walk: str, ended: Any = "stopped", route: tuple[str, ...] = ROUTE
) -> dict[str, float]:
    trajectory = trajectory_from_places("1", list(walk), "panorama")
    trajectory.ended = ended
    (values,) = scorer("street").score(DATASET, [(task(route), trajectory)])
    return values


def test_the_full_route_scores_in_full() -> None:
    assert scores("abcde") == {
        "tc": 1,
        "spd": 0,
        "kpa": 1,
        "kpa_released": 1,
        "ndtw": 1,
        "ndtw_released": 1,
    }
    assert scores("aabbcccdee") == scores("abcde"), "staying counts once"
    guided = trajectory_from_places("1", list(ROUTE), "panorama")
    guided.steps.insert(
        2, replace(guided.steps[0], actor="guide", pose={"panorama": "h"})
    )
    assert scorer("street").score(DATASET, [(task(), guided)]) == [scores("abcde")]


def test_one_link_from_the_goal_either_way_completes_the_task() -> None:
    assert (scores("abcd")["tc"], scores("abcd")["spd"]) == (1, 1)
    assert (scores("abc")["tc"], scores("abc")["spd"]) == (0, 2)
    assert (scores("x")["tc"], scores("x")["spd"]) == (1, 1), "a link into the goal"
    backwards = scores("e", route=("a", "x"))
    assert (backwards["tc"], backwards["spd"]) == (1, math.inf), (
        "a link out of the goal only"
    )


def test_kpa_by_hand() -> None:
    """Key points of the route: a to b, c to d, d to e, the goal."""
    assert scores("abcfg")["kpa"] == pytest.approx(1 / 4)
    assert scores("abcd")["kpa"] == pytest.approx(3 / 4), "d is left for nowhere"
    assert scores("a")["kpa"] == 0
    assert scores("abcde", "step_limit")["kpa"] == pytest.approx(3 / 4), (
        "no stop at the goal"
    )
    assert scores("abcfcde")["kpa"] == 1, "a detour that comes back to the junction"


def test_released_kpa_by_hand() -> None:
    """Its key points: a, b, c to d, d to e, the goal; and no stop is asked for."""
    assert scores("abcfg")["kpa_released"] == pytest.approx(2 / 5)
    assert scores("abcde", "step_limit")["kpa_released"] == 1
    assert scores("a")["kpa_released"] == 0, "a walk of one panorama has no key points"
    starting_at_a_junction = scores("cde", route=("c", "d", "e"))
    assert starting_at_a_junction["kpa_released"] == starting_at_a_junction["kpa"] == 1
    twice = ("b", "c", "d", "c", "d", "e")
    assert scores("bcdcde", route=twice)["kpa"] == 1
    assert scores("bcdcde", route=twice)["kpa_released"] == pytest.approx(6 / 7)


def test_a_route_of_one_panorama_has_the_goal_alone() -> None:
    assert scores("a", route=("a",)) == {
        "tc": 1, "spd": 0, "kpa": 1, "kpa_released": 1, "ndtw": 1, "ndtw_released": 1
    }  # fmt: skip
    nearby_scores = scores("ab", route=("a",))
    assert (nearby_scores["kpa"], nearby_scores["kpa_released"]) == (1, 1), (
        "no first step that could be wrong"
    )


def test_a_route_of_one_link_has_the_first_step_and_the_goal() -> None:
    walked = scores("ab", route=("a", "b"))
    stayed = scores("a", route=("a", "b"))
    assert (walked["kpa"], walked["kpa_released"]) == (1, 1)
    # A stop at a is one link from the goal, and no first step. The released code has a, b, the
    # goal, and counts nothing begun by a walk of one panorama.
    assert (stayed["kpa"], stayed["kpa_released"]) == (1 / 2, 1 / 3)


def test_a_junction_at_the_start_is_the_first_step_and_to_the_released_code_one_more() -> (
    None
):
    # c to d right, d to e wrong, goal missed: 1 of 3. Released: c, d, c to d of c, d, both, goal.
    wrong = scores("cdh", route=("c", "d", "e"))
    assert (wrong["kpa"], wrong["kpa_released"]) == pytest.approx((1 / 3, 3 / 5))
    # The route comes by c again: c to d, d to c, c to f, the goal. The walk has the last two.
    assert scores("cf", route=("c", "d", "c", "f"))["kpa"] == pytest.approx(2 / 4)


def test_released_kpa_of_walks_that_start_elsewhere() -> None:
    # Of a, b, c to d, d to e, the goal: c d has the third and is a link from the goal; c b a
    # begins with b alone.
    assert scores("cd")["kpa_released"] == pytest.approx(2 / 5)
    assert scores("cba")["kpa_released"] == pytest.approx(1 / 5)


def test_ndtw_counts_links() -> None:
    assert scores("abcd")["ndtw"] == pytest.approx(math.exp(-1 / 5))
    assert scores("abcfcde")["ndtw"] == pytest.approx(math.exp(-1 / 5))
    assert scores("a")["ndtw"] == pytest.approx(math.exp(-10 / 5))
    # From g, off the route: g-a 4, f-b 2, and the rest on it.
    assert scores("gfcde")["ndtw"] == pytest.approx(math.exp(-6 / 5))
    assert scores("aba", route=("a",))["ndtw"] == pytest.approx(math.exp(-1))
    assert scores("abab", route=("a", "b"))["ndtw"] == pytest.approx(math.exp(-1 / 2))


def test_walks_scored_together_get_the_numbers_of_each() -> None:
    # Of 4, 5 and 1 panoramas, for routes of 5, 4 and 5: DTW 1 (d for e), 1 (g for f), 1+2+3+4.
    walked = (("abcd", ROUTE), ("abcfg", ("a", "b", "c", "f")), ("a", ROUTE))
    pairs = [
        (task(to), trajectory_from_places("1", list(way), "panorama"))
        for way, to in walked
    ]
    found = scorer("street").score(DATASET, pairs)
    expected = [math.exp(-1 / 5), math.exp(-1 / 4), math.exp(-10 / 5)]
    assert [one["ndtw"] for one in found] == pytest.approx(expected)
    assert [(one["tc"], one["spd"]) for one in found] == [(1, 1), (1, 1), (0, 4)]


def test_failed_and_unjudged_episodes() -> None:
    failed = Trajectory("1", {}, ended="failed", error="the model is gone")
    unjudged = Task(task().episode, Reference("1"))
    full = trajectory_from_places("1", list("abcde"), "panorama")
    pairs = [(task(), failed), (unjudged, full), (task(), full)]
    first, second, third = scorer("street").score(DATASET, pairs)
    assert (first["tc"], first["spd"], first["kpa"]) == (0, 4, 0)
    assert second == {}
    assert third["tc"] == 1
    assert scorer("street").score(DATASET, []) == []


def test_an_unknown_panorama_is_named() -> None:
    with pytest.raises(
        DataError, match="town: episode 1: 'q' is not in this street graph"
    ):
        scores("aq")


def test_illegal_moves_are_counted() -> None:
    judge = scorer("street")
    assert isinstance(judge, PlaceScorer)
    assert judge.illegal_moves(DATASET, task(), list("aabcde")) == 0
    assert judge.illegal_moves(DATASET, task(), list("abc")) == 0
    assert judge.illegal_moves(DATASET, task(), list("bdx")) == 3
    with pytest.raises(KeyError, match="q"):
        judge.illegal_moves(DATASET, task(), ["q"])


def world(panorama: str = "a", heading: int = 0) -> StreetWorld:
    made = StreetWorld(Navigator(GRAPH))
    made.reset(Episode("1", "Go.", "town", {"panorama": panorama, "heading": heading}))
    return made


class StreetTasks(SolvableWalks):
    """Solves tasks in the town."""

    def world(self, episode: Episode) -> StreetWorld:
        return StreetWorld(Navigator(GRAPH))


def act(agent: Any, observation: Observation, space: ActionSpace) -> str:
    decision = asyncio.run(agent.act(observation, space))
    assert isinstance(decision, Decision)
    return str(decision.action)


@pytest.mark.parametrize(
    ("here", "goal", "links", "success"),
    [
        ("d", "e", 1, True),
        ("e", "e", 0, True),
        ("c", "e", 2, False),
        ("e", "x", math.inf, True),
    ],
)
def test_a_walk_under_way_stands_so_many_links_from_the_goal(
    here: str, goal: str, links: float, success: bool
) -> None:
    """One link either way round is near enough, as at the end: x has a link into e alone."""
    judge = scorer("street")
    assert isinstance(judge, Judged)
    found = judge.standing(DATASET, task(("a", goal)), world(here))
    assert found is not None
    assert (found.success, found.met, found.parts) == (success, int(success), 1)
    assert (found.distance, found.unit) == (links, "links")
    assert (
        judge.standing(DATASET, Task(task().episode, Reference("1")), world(here))
        is None
    )


def test_gold_walks_the_route() -> None:
    here = world()
    oracle = GoldOracle(NoSettings(), Toolkit())
    assert oracle.sees_answer
    route = PathReference("1", ("a", "b", "c", "f"))
    drawn_task = Task(task().episode, route)
    oracle.reveal(
        route, here, lambda how: StreetTasks().plan(drawn_task, here, "agent", how)
    )
    asyncio.run(oracle.begin(drawn_task.episode))
    messages = [
        act(oracle, here.observe("agent"), here.action_space("agent")) for _ in range(6)
    ]
    assert messages == ["forward", "forward", "right", "forward", "stop", "stop"]


def test_what_cannot_be_walked_is_refused() -> None:
    here = world()
    walks = StreetTasks()
    unknown = Task(task().episode, Reference("1"))
    with pytest.raises(UsageError, match="has no published path"):
        walks.plan(unknown, here, "agent", "gold")
    with pytest.raises(UsageError, match="has no published goal"):
        walks.plan(unknown, here, "agent", "shortest")
    with pytest.raises(
        UsageError, match="no 'expert' solution, only gold and shortest"
    ):
        walks.plan(task(), here, "agent", "expert")
    with pytest.raises(UsageError, match=r"object must define route\(\) and along\(\)"):
        walks.plan(task(), cast("Any", object()), "agent", "gold")


def test_forward_says_forward_39_times() -> None:
    agent = ForwardAgent(NoSettings(), Toolkit())
    here = world()
    asyncio.run(agent.begin(task().episode))
    messages = []
    while "stop" not in messages:
        messages.append(act(agent, here.observe("agent"), here.action_space("agent")))
        agent.on_feedback(
            Decision(Action(messages[-1])), here.step("agent", Action("stop"))
        )
    assert messages == ["forward"] * 39 + ["stop"]


def test_indoors_forward_takes_the_way_closest_to_its_heading() -> None:
    agent = ForwardAgent(NoSettings(), Toolkit())
    neighbors = (
        Neighbor("north", 10, 0, 1),
        Neighbor("east", 95, 0, 1),
        Neighbor("south", 180, 0, 1),
    )

    def reply_of(heading: float) -> str:
        seen = IndoorObservation("house", "here", heading, 0, neighbors)
        return act(agent, seen, ActionSpace(()))

    assert reply_of(350) == "goto[north]"
    assert reply_of(60) == "goto[east]"
    assert reply_of(275) == "stop", "the next way is 95 degrees off"
    for _ in range(5):
        agent.on_feedback(
            Decision(Action("forward")), world().step("agent", Action("forward"))
        )
    assert reply_of(350) == "stop", "five moves are enough"


def test_forward_knows_no_other_worlds() -> None:
    with pytest.raises(UsageError, match="acts in indoor and street worlds"):
        act(ForwardAgent(NoSettings(), Toolkit()), Observation(), ActionSpace(()))
