"""What a search could have scored, worked out by hand: views, detections, trials, standings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from wayword.core.action import STOP, Decision
from wayword.core.dataset import Dataset, Task
from wayword.core.episode import Episode, Reference
from wayword.core.trajectory import Note, Step, Trajectory
from wayword.core.world import Feedback, World
from wayword.metrics.detector_reports import failed_motions, search_outcome
from wayword.metrics.objectnav import bounds, reported
from wayword.metrics.scoring import Judged, scorer
from wayword.worlds.objectnav.observation import DepthImage, Shown, View
from wayword.worlds.objectnav.world import ObjectNavReference

DATASET = cast("Dataset", SimpleNamespace())
MUG = frozenset({"mug_1", "mug_2"})


def shown(name: str, away: float) -> Shown:
    return Shown(name, name.split("_")[0], name, 0, 0, away - 0.1, away, 5, 5, 1.0)


def looks(
    *views: Sequence[Shown], notes: dict[int, list[Note]] | None = None
) -> Trajectory:
    """A search of one step a view, with notes by the number of the step."""
    steps = [
        Step(
            "agent",
            view(*items),
            Decision(STOP),
            Feedback(),
            {},
            notes=(notes or {}).get(n, []),
        )
        for n, items in enumerate(views)
    ]
    return Trajectory("1", {"agent": {}}, steps, {"stopped": True})


def view(*things: Shown) -> View:
    return View("flat", 0.0, 0.0, 0.0, 0.9, 80.0, cast("DepthImage", None), things)


def grounded(distance: float) -> Note:
    return Note("grounded", {"distance": distance})


def test_chance_is_the_share_of_views_with_a_target() -> None:
    # Views: nothing; a mug; a table and the other mug; a table. 2 of 4 hold a target.
    walk = looks([], [shown("mug_1", 3)], [shown("table_1", 2), shown("mug_2", 4)],
                 [shown("table_1", 1)])  # fmt: skip
    assert bounds(walk, MUG) == {"ever_seen": 1, "chance": 0.5}
    assert bounds(walk, frozenset({"vase_1"})) == {"ever_seen": 0, "chance": 0}
    walk.steps.append(Step("agent", {}, Decision(STOP), Feedback(), {}))
    assert bounds(walk, MUG)["chance"] == 0.5, (
        "a turn without a view is none of its views"
    )
    assert bounds(looks(), MUG) == {}, "nobody looked"


@pytest.mark.parametrize(
    ("step", "distance", "right"),
    [
        (1, 4.0, 1),  # the mug's own distance in that view
        (1, 2.0, 0),  # the table's
        (0, 4.0, 0),  # the mug is in the next view, not in this one
        (2, 9.0, 0),  # nothing is there at all
    ],
)
def test_a_detection_counts_where_it_is_a_target_in_that_view(
    step: int, distance: float, right: float
) -> None:
    views = [shown("table_1", 4)], [shown("table_1", 2), shown("mug_2", 4)], []
    found = bounds(looks(*views, notes={step: [grounded(distance)]}), MUG)
    assert found == {
        "ever_seen": 1,
        "chance": pytest.approx(1 / 3),
        "ever_grounded": right,
    }


@pytest.mark.parametrize("kind", ["turn", "gave_up"])
def test_a_searcher_that_detects_nothing_has_grounded_nothing(kind: str) -> None:
    walk = looks([shown("mug_1", 3)], notes={0: [Note(kind, {"distance": 3})]})
    assert bounds(walk, MUG)["ever_grounded"] == 0


def task(**told: Any) -> Task:
    reference = ObjectNavReference("1", MUG, **told)
    return Task(Episode("1", "Find a mug.", "flat", {}), reference)


def final(metres: float, *seen: tuple[str, float], stopped: bool = True) -> Trajectory:
    items = [{"id": name, "distance": distance} for name, distance in seen]
    state = {
        "stopped": stopped,
        "metres": metres,
        "in_view": items,
        "x": 3.0,
        "y": 4.0,
    }
    return Trajectory("1", {"agent": {}}, [], {**state, "moves": 8, "turns": 3})


def scores(query: Task, walk: Trajectory) -> dict[str, float]:
    (found,) = scorer("objectnav").score(DATASET, [(query, walk)])
    return found


def test_spl_divides_the_published_length_by_the_longer_of_the_two() -> None:
    # l = 6 m: 8 m gone give 6 / 8; 5 m gone give 1. Where l = 0, only standing still is worth 1.
    assert scores(task(shortest=6.0), final(8, ("mug_1", 0.5)))["spl_challenge"] == 0.75
    assert scores(task(shortest=6.0), final(5, ("mug_1", 0.5)))["spl_challenge"] == 1
    assert scores(task(shortest=0.5), final(2, ("mug_1", 0.5)))["spl_challenge"] == 0.25
    assert scores(task(shortest=0.0), final(5, ("mug_1", 0.5)))["spl_challenge"] == 0
    assert scores(task(shortest=0.0), final(0, ("mug_1", 0.5)))["spl_challenge"] == 1
    assert "spl_challenge" not in scores(task(), final(8, ("mug_1", 0.5)))


def test_the_challenge_asks_for_a_metre_and_the_nearest_target_counts() -> None:
    near = ("table_1", 0.2), ("mug_1", 3.0), ("mug_2", 1.0)
    assert scores(task(), final(8, *near))["success_challenge"] == 1, (
        "a metre is near enough"
    )
    far = scores(task(), final(8, ("table_1", 0.2), ("mug_1", 1.01)))
    assert (far["success_visible"], far["success_challenge"]) == (1, 0)
    plain = scores(task(), final(8, ("table_1", 0.2)))
    assert plain["success_visible"] == 0
    assert not any(key.startswith("sr_") for key in plain), "no type was asked for"
    assert scores(Task(task().episode, Reference("1")), final(8)) == {}, (
        "nobody can judge it"
    )


def test_the_released_rule_measures_to_the_nearest_target() -> None:
    # The walk ends at (3, 4): 5 m from the origin, exactly 2 m from (3, 6), 2.1 m from (3, 6.1).
    released = [
        scores(task(middles=middles), final(8, stopped=False))["success_released"]
        for middles in (((0.0, 0.0), (3.0, 6.0)), ((0.0, 0.0), (3.0, 6.1)))
    ]
    assert released == [1, 0]
    nowhere = Trajectory("1", {}, ended="failed", error="the base is gone")
    found = scores(task(middles=((0.0, 0.0),)), nowhere)
    assert (found["success_released"], found["tl"], found["motions"]) == (0, 0, 0)


def test_an_earlier_trial_s_giving_up_and_turns_are_not_the_last_one_s() -> None:
    walk = looks([shown("mug_1", 3)], notes={0: [Note("turn", {})]})
    walk.state = final(8, ("mug_1", 0.5)).state
    gave_up = [Note("turn", {}), Note("turn", {}), Note("gave_up", {})]
    walk.earlier = [looks([], notes={0: gave_up})]
    found = scores(task(), walk)
    assert (found["success_visible"], found["success_grounded"], found["turns"]) == (
        1,
        1,
        1,
    )
    assert (found["motions"], found["ever_seen"], found["chance"]) == (11, 1, 1)


def test_a_search_under_way_stands_where_a_target_is() -> None:
    judge = scorer("objectnav")
    assert isinstance(judge, Judged)

    def standing(stopped: bool, drawn_task: Task) -> Any:
        state = final(8, ("mug_1", 6.0), stopped=stopped).state
        world = SimpleNamespace(
            pose=lambda actor: state, done=lambda actor: stopped, state=lambda: state
        )
        return judge.standing(DATASET, drawn_task, cast("World", world))

    # At (3, 4), with a mug in view: 5 m from the one at the origin, 6 m from the other.
    drawn_task = task(middles=((3.0, 10.0), (0.0, 0.0)))
    going = standing(False, drawn_task)
    done = standing(True, drawn_task)
    assert (going.success, going.met, going.distance) == (False, 0, 5.0)
    assert (done.success, done.met, done.parts, done.distance) == (True, 1, 1, 5.0)
    assert standing(True, task()).distance is None
    assert standing(True, Task(drawn_task.episode, Reference("1"))) is None
    assert not math.isinf(done.distance)


@pytest.mark.parametrize(
    ("kinds", "ended", "found", "end"),
    [
        (["grounded"], "stopped", 1.0, ", 2.0 m away"),
        (["grounded", "not_there"], "stopped", 0.0, "but not from nearby"),
        (["grounded", "went_back"], "stopped", 0.0, "but not from nearby"),
        (["grounded", "not_there", "grounded"], "stopped", 1.0, ", 2.0 m away"),
        (["grounded"], "step_limit", 0.0, "ended before the agent had reached it"),
        (["grounded", "not_there"], "step_limit", 0.0, "but not from nearby"),
    ],
)
def test_found_is_the_report_that_the_agent_stopped_at(
    kinds: list[str], ended: Any, found: float, end: str
) -> None:
    notes = {0: [Note(kind, {"distance": 2.0}) for kind in kinds]}
    walk = replace(looks([], notes=notes), ended=ended)
    target = Episode("1", "Find the mug.", "robot", {}, extra={"target": "mug"})
    assert reported(Task(target, Reference("1")), walk)["found"] == found
    text = search_outcome(walk)
    assert text.endswith(end)
    assert ("found the target" in text) == (found == 1.0)


def test_motions_that_failed_are_counted_by_their_status() -> None:
    walk = looks([], [], [], [])
    statuses = ("cancelled", "ok", "refused", "cancelled")
    steps = [
        replace(step, feedback=Feedback(status))
        for step, status in zip(walk.steps, statuses, strict=True)
    ]
    assert failed_motions(replace(walk, steps=steps)) == "1 refused, 2 cancelled"
    assert failed_motions(walk) == ""
