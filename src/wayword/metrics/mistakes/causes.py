"""Causes of failure of an episode: heuristics on its recorded steps and scores, not validated
against human labels. An episode may have several.

Most causes need only the record. With the episode's task and dataset, more are known: whether a
walk reached its goal, whether an answer was wrong, and whether an order was ever given.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from wayword.core.dataset import Dataset, Task
from wayword.core.episode import JsonObject, PathReference
from wayword.core.trajectory import GAVE_UP, GROUNDED, TURN, WENT_BACK
from wayword.core.visible import plural, spaced
from wayword.metrics.conditions import (
    answer_given,
    conditions,
    goal_ids,
    single_goals,
)
from wayword.metrics.recorded import (
    SPOKEN,
    WAITING,
    as_mapping,
    listed,
    place_of,
    point_of,
)
from wayword.metrics.scoring import reached
from wayword.worlds.household.goals import (
    AnswerReference,
    HouseholdReference,
    kind_names,
)
from wayword.worlds.objectnav.world import ObjectNavReference

CAUSES: Mapping[str, tuple[str, str]] = {
    "failed": ("failed", "ended with an error"),
    "never_seen": ("never seen", "the target was never in view"),
    "false_alarm": (
        "false alarm",
        "stopped because the detector reported the target where it was not",
    ),
    "detector_missed": (
        "detector missed it",
        "the target was in view, but the detector never reported it",
    ),
    "seen_not_taken": (
        "seen, not taken",
        "the target was in view, but the episode ended elsewhere",
    ),
    "passed_goal": ("passed the goal", "reached the goal, but ended elsewhere"),
    "order_not_sent": (
        "order not sent",
        "an actor alone knew a goal and never told the others",
    ),
    "wrong_answer": ("wrong answer", "answered, but not with the right answer"),
    "no_answer": ("no answer", "stopped without an answer to the question"),
    "wrong_object": ("wrong object", "picked up or chose the wrong object"),
    "dead_end": ("dead end", "went on at a dead end, which ended the episode"),
    "wrong_place": (
        "stopped in the wrong place",
        "stopped off the path, or after it had turned back",
    ),
    "stopped_early": ("stopped early", "stopped before reaching the goal"),
    "stopped_elsewhere": ("stopped elsewhere", "stopped away from the goal"),
    "gave_up": ("stuck", "stopped after three failed actions in a row"),
    "looped": ("looped", "took the same action in the same pose three times or more"),
    "wandered": (
        "wandered",
        "path at least three times its net distance, or largely retraced",
    ),
    "rejected": (
        "rejected answers",
        "at least a quarter of the answers were not legal actions",
    ),
    "truncated": ("truncated", "an answer reached its token limit"),
    "partner_silent": ("silent actor", "an actor never spoke to the others"),
    "ran_out": ("ran out", "reached the step limit"),
}
"""Every cause with its name in tables and its meaning, the most informative first."""

_REACHED = "osr", "ever_seen"  # metrics that are 1 if the goal was ever reached or seen
_WALKED = "osr", "tc"  # metrics of walks to a place
_PICKING = frozenset({"pick_up", "pickup", "pick", "grab"})
_FEW_MOVES = 10  # shorter walks are never called wandering
_RETRACED = 1 / 3  # share of moves to visited places from which a walk is wandering
_REJECTED = 1 / 4  # share of answers; single rejected ones cost only a step
_DETOUR = 3.0  # ratio of path length to net distance above which a walk is wandering
_REPEATS = 3  # failed actions in a row, or equal actions in one pose


def label_of(cause: str) -> str:
    """Return the name of a cause in tables: ``passed the goal`` for ``passed_goal``."""
    return CAUSES[cause][0]


def meaning_of(cause: str, metrics: Container[str]) -> str:
    """Return the meaning of a cause. It mentions a goal only if a metric records whether it was
    reached: some worlds have no goal place."""
    if cause == "stopped_early" and not any(key in metrics for key in _REACHED):
        return "stopped before the task was done"
    return CAUSES[cause][1]


Written = JsonObject  # a step or trajectory as stored in ``episodes.jsonl.gz``


def find_causes(
    written: Written,
    scores: Mapping[str, float],
    instruction: str = "",
    task: Task | None = None,
    dataset: Dataset | None = None,
) -> dict[str, int]:
    """Find the causes of failure of an episode, each with the first step (from 1) that shows it.

    0 if no single step does. The first cause explains the failure best. Without
    ``task`` and ``dataset``, causes that need them are left out.

        >>> step = {"actor": "a", "decision": {"action": "forward"}, "pose": {"x": 1, "y": 1}}
        >>> written = {"start": {"a": {"x": 1, "y": 1}}, "steps": [step] * 4, "ended": "step_limit"}
        >>> find_causes(written, {"sr": 0.0})
        {'looped': 2, 'ran_out': 4}
    """
    if written.get("ended") == "failed":
        return {"failed": 0}
    steps = [step for step in written.get("steps", ()) if isinstance(step, Mapping)]
    last = len(steps)
    found = dict(_search_causes(written, steps, scores, task))
    if (passed := _step_past_goal(steps, written, scores, task, dataset)) is not None:
        found["passed_goal"] = passed
    if (silent := _order_not_sent(written, steps, task)) is not None:
        found["order_not_sent"] = silent
    reference = task.reference if task else None
    found |= _result_causes(written, steps, instruction, reference)
    if (
        written.get("ended") == "stopped"
        and found.keys().isdisjoint(_EXPLAINS_A_STOP)
        and not _ended_with_choice(written, steps)
    ):
        kind = _kind_of_stop(written, steps, reference)
        # Whether the goal lay ahead is known from the path alone.
        if (
            kind == "stopped_early"
            and task is None
            and not scores.keys().isdisjoint(_WALKED)
        ):
            kind = "stopped_elsewhere"
        found[kind] = last
    found |= _habits(written, steps)
    if written.get("ended") == "step_limit":
        found["ran_out"] = last
    return {name: found[name] for name in CAUSES if name in found}


_EXPLAINS_A_STOP = frozenset(
    {
        "never_seen",
        "passed_goal",
        "order_not_sent",
        "seen_not_taken",
        "detector_missed",
        "false_alarm",
        "wrong_answer",
        "no_answer",
    }
)
"""Causes of an episode that stopped, next to which where it stopped would say nothing."""


def _result_causes(
    written: Written, steps: Sequence[Written], instruction: str, reference: Any
) -> dict[str, int]:
    """Find a wrong result of an episode: its answer, its choice, or an object that it picked up."""
    last = len(steps)
    if isinstance(reference, AnswerReference):  # which names no object to pick up
        if answer_given(as_mapping(written.get("state") or {})):
            return {"wrong_answer": last}
        return {"no_answer": last} if written.get("ended") == "stopped" else {}
    if _ended_with_choice(written, steps):
        return {"wrong_object": last}
    picked = _find_wrong_pick(steps, instruction)
    return {} if picked is None else {"wrong_object": picked}


def _ended_with_choice(written: Written, steps: Sequence[Written]) -> bool:
    """True if the last step chose an object to go to, which ends the two-phase test."""
    if written.get("ended") != "stopped" or not steps:
        return False
    decision = steps[-1].get("decision", {})
    return decision.get("action") == "go" and bool(decision.get("arguments"))


def _kind_of_stop(written: Written, steps: Sequence[Written], reference: Any) -> str:
    """Return the cause of a stop that nothing else explains. It was early if the walk had come
    along the path, so that the goal lay ahead, or if it never moved."""
    if (
        steps
        and as_mapping(steps[-1].get("feedback") or {}).get("status") == "dead_end"
    ):
        return "dead_end"
    if not isinstance(reference, PathReference):
        return "stopped_early"
    places = _places(written, steps)
    order = {place: number for number, place in enumerate(reference.path)}
    along = [order.get(place, -1) for place in places]
    # Short of the goal in the wrong direction is not early, however short the walk was.
    has_come = along[-1] > 0 and along[-1] == max(along)
    is_early = has_come or {*places} == {places[0]}
    return "stopped_early" if is_early else "wrong_place"


def _places(written: Written, steps: Sequence[Written]) -> list[str]:
    """Return the places of a walk: its start, then after each step."""
    start: Any = next(iter(as_mapping(written.get("start") or {}).values()), {})
    return [place_of(pose) for pose in (start, *(step.get("pose") for step in steps))]


def _search_causes(
    written: Written,
    steps: Sequence[Written],
    scores: Mapping[str, float],
    task: Task | None,
) -> Iterator[tuple[str, int]]:
    """Yield the causes of a failed search for an object."""
    if scores.get("ever_seen") == 0.0:
        yield "never_seen", 0
    reports = [number for number, step in enumerate(steps, 1) if _noted(step, GROUNDED)]
    reference = task.reference if task else None
    if isinstance(reference, ObjectNavReference):
        right = [n for n in reports if reports_target(steps[n - 1], reference.targets)]
    # Without the task, only a score can tell that every report was wrong.
    elif scores.get("ever_grounded") == 0.0:
        right = []
    else:
        right = reports
    gave_up = any(_noted(step, GAVE_UP) for step in steps)
    stopped = written.get("ended") == "stopped"
    believed = _believed(steps, reports)
    if stopped and not gave_up and believed and believed not in right:
        yield "false_alarm", believed
    if scores.get("ever_seen", 0.0) > 0.5:
        # Agents without a detector never write these notes.
        has_detector = reports or any(
            _noted(step, TURN) or _noted(step, GAVE_UP) for step in steps
        )
        yield ("detector_missed" if has_detector and not right else "seen_not_taken"), 0


def _believed(steps: Sequence[Written], reports: Sequence[int]) -> int:
    """Return the report of the detector at whose place the agent stopped: the last one, unless it
    went back to where an earlier one had led it; 0 without a report."""
    if not reports:
        return 0
    points = [point_of(as_mapping(step.get("pose") or {})) for step in steps]
    end = points[-1]
    returns = [
        number for number, step in enumerate(steps, 1) if _noted(step, WENT_BACK)
    ]
    distances: dict[int, float] = {}  # from the end, of steps before the last return
    if returns and end is not None:
        for number in range(reports[0], returns[-1]):
            point = points[number - 1]
            if point is not None:
                distances[number] = math.dist(point, end)
    if not distances:
        return reports[-1]
    nearest = min(distances, key=distances.__getitem__)
    return max(number for number in reports if number <= nearest)


def reports_target(step: Written, targets: Container[str]) -> bool:
    """True if the detector's report at a written step is about a target in view.

    Reports have no object id; the exact distance identifies the target.
    """
    metres = [
        each.get("away")
        for each in listed(step.get("observation"), "shown")
        if each.get("id") in targets
    ]
    return any(details.get("distance") in metres for details in _noted(step, GROUNDED))


def _noted(step: Written, kind: str) -> list[JsonObject]:
    """Return the details of a step's notes of a kind."""
    notes = [as_mapping(note) for note in step.get("notes", ())]
    return [as_mapping(n.get("details") or {}) for n in notes if n.get("kind") == kind]


def _step_past_goal(
    steps: Sequence[Written],
    written: Written,
    scores: Mapping[str, float],
    task: Task | None,
    dataset: Dataset | None,
) -> int | None:
    """Return the step that left the goal for the last time.

    0 if only the scores tell that it was reached; None if it was not.
    """
    near: Sequence[bool] = ()
    if dataset is not None and task and isinstance(task.reference, PathReference):
        near = reached(dataset, task, _places(written, steps))
    if near:
        if not any(near):
            return None
        return min(len(near) - near[::-1].index(True), len(steps))
    return 0 if scores.get("osr", 0.0) > 0.5 else None


def _order_not_sent(
    written: Written,
    steps: Sequence[Written],
    task: Task | None,
) -> int | None:
    """Return the last step of the one actor whose instruction names an unmet goal's objects.

    Only if no message of it names any; None if it sent one, or if all actors knew.
    """
    reference = task.reference if task else None
    if task is None or not isinstance(reference, HouseholdReference):
        return None
    texts = task.episode.extra.get("instructions", {})
    met = conditions(reference, as_mapping(written.get("state") or {}))
    names: set[str] = set()
    for goal, (_, done, parts) in zip(single_goals(reference), met, strict=False):
        if done < parts:
            names.update(kind_names(goal_ids(goal)))
    if not names or any(_names(task.episode.instruction, name) for name in names):
        return None
    knew = [
        actor
        for actor, text in texts.items()
        if any(_names(str(text), name) for name in names)
    ]
    if len(knew) != 1 or len(task.episode.actors) < 2:
        return None
    turns = [n for n, step in enumerate(steps, 1) if step.get("actor") == knew[0]]
    for number in turns:
        decision = steps[number - 1].get("decision", {})
        message = " ".join(map(str, decision.get("arguments") or ()))
        if decision.get("action") in SPOKEN and any(_names(message, n) for n in names):
            return None
    return turns[-1] if turns else None


def _names(text: str, kind: str) -> bool:
    """True if a text names a kind of object, in the singular or plural, or one by its id."""
    forms = f"{re.escape(kind)}|{re.escape(plural(kind))}"
    return bool(re.search(rf"\b({forms})\b", spaced(text), re.IGNORECASE))


def _habits(written: Written, steps: Sequence[Written]) -> dict[str, int]:
    """Find causes in the course of the steps: repeated failures, loops, rejected answers.

    Return each cause with the step (from 1) that stands for it, 0 if no single step does.
    """
    found: dict[str, int] = {}
    decisions = [step.get("decision", {}) for step in steps]
    # Without the stop itself: the steps that led to it.
    stuck = steps[:-1][-_REPEATS:]
    failed = len(stuck) == _REPEATS and not any(map(_succeeded, stuck))
    if written.get("ended") == "stopped" and failed:
        found["gave_up"] = max(1, len(steps) - _REPEATS)
    if (looped := _find_loop(written, steps)) is not None:
        found["looped"] = looped
    # A loop is a way of wandering, and says more.
    elif _has_wandered(written, steps):
        found["wandered"] = 0
    rejected = [
        number
        for number, decision in enumerate(decisions, 1)
        if "rejected" in decision or "fallback_for" in decision
    ]
    if rejected and len(rejected) / len(steps) >= _REJECTED:
        found["rejected"] = rejected[0]
    cut = [number for number, step in enumerate(steps, 1) if _is_truncated(step)]
    if cut:
        found["truncated"] = cut[0]
    actors = {step.get("actor") for step in steps}
    spoke = {
        step.get("actor") for step in steps if step.get("decision", {}).get("action") in SPOKEN
    }  # fmt: skip
    if len(actors) > 1 and spoke != actors:
        found["partner_silent"] = 0
    return found


def _succeeded(step: Written) -> bool:
    """True if the step's action succeeded."""
    return bool(step.get("feedback", {}).get("status", "ok") == "ok")


def _is_truncated(step: Written) -> bool:
    """True if the answer was cut at its token limit."""
    decision = step.get("decision", {})
    kind = decision.get("fallback_for", decision).get("rejected")
    answers = (call.get("answer") or {} for call in step.get("calls", ()))
    cut = any("length" in answer.get("finish", ()) for answer in answers)
    return cut or kind in ("cut_off", "too_long")


def _find_wrong_pick(steps: Sequence[Written], instruction: str) -> int | None:
    """Return the first step that picked up an object which the instruction does not name.

    A tool that was used is not one: "slice the tomato" names no knife.
    """
    named = set(re.findall(r"[a-z]+", instruction.lower()))
    answers = [each.get("feedback", {}) for each in steps if _succeeded(each)]
    tools = {as_mapping(each.get("details") or {}).get("tool") for each in answers}
    for number, step in enumerate(steps, 1):
        decision = step.get("decision", {})
        arguments = decision.get("arguments")
        if (
            named
            and decision.get("action") in _PICKING
            and arguments
            and arguments[0] not in tools
            and _succeeded(step)
        ):
            words = re.findall(r"[a-z]+", str(arguments[0]).lower())
            # One word or two: an instruction's basketball is a world's basket_ball.
            names = [*words, "".join(words)]
            # A plural in the instruction names the object as well.
            if words and named.isdisjoint([*names, *map(plural, names)]):
                return number
    return None


def _poses(
    written: Written,
    actor: str,
    steps: Sequence[Written],
) -> list[dict[str, Any]]:
    """Return the poses of an actor: its start, then after each of its steps."""
    mine = (step for step in steps if step.get("actor") == actor)
    poses = [
        written.get("start", {}).get(actor),
        *(s.get("pose", s.get("where")) for s in mine),
    ]
    return [dict(pose) if isinstance(pose, Mapping) else {} for pose in poses]


def _find_loop(written: Written, steps: Sequence[Written]) -> int | None:
    """Return the earliest second step of an action that was done three times in one pose."""
    repeats: list[int] = []
    actors = dict.fromkeys(str(step.get("actor")) for step in steps)
    for actor in actors:
        mine = [
            (n, step) for n, step in enumerate(steps, 1) if step.get("actor") == actor
        ]
        done: dict[tuple[str, ...], list[int]] = {}
        for pose, (number, step) in zip(
            _poses(written, actor, steps),
            mine,
            strict=False,
        ):
            decision = step.get("decision", {})
            if not pose or "action" not in decision:
                continue
            # In a team, an actor that waits for others is in no loop.
            if len(actors) == 1 or decision["action"] not in WAITING:
                action = str(decision["action"]), repr(decision.get("arguments"))
                done.setdefault((repr(sorted(pose.items())), *action), []).append(
                    number
                )
        repeats += [numbers[1] for numbers in done.values() if len(numbers) >= _REPEATS]
    return min(repeats, default=None)


def _has_wandered(written: Written, steps: Sequence[Written]) -> bool:
    """True if an actor walked far for little.

    It made ten or more moves, and its path is over three times the net distance or a
    third of the moves led to places it had visited.
    """
    for actor in dict.fromkeys(str(step.get("actor")) for step in steps):
        places = [_place_of(pose) for pose in _poses(written, actor, steps)]
        moved = [b for a, b in pairwise(places) if b is not None and a != b]
        if len(moved) < _FEW_MOVES:
            continue
        retraced = len(moved) - len(set(moved))
        if retraced / len(moved) >= _RETRACED:
            return True
        points = [p for p in places if isinstance(p, tuple)]
        if len(points) == len(places):
            length = sum(math.dist(a, b) for a, b in pairwise(points))
            if length > _DETOUR * math.dist(points[0], points[-1]):
                return True
    return False


def _place_of(pose: JsonObject) -> tuple[float, float] | str | None:
    """Return a key for the place of a pose; None if it has none."""
    if (point := point_of(pose)) is not None:
        return round(point[0], 2), round(point[1], 2)
    return place_of(pose) or None
