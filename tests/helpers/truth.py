"""Why an episode failed, by brute force from its record and its world.

Nothing here comes from the code that finds causes and mistakes for pages: the step that lost an
episode is searched from its end, one step at a time, by letting experts take over and scoring what
they leave; the cause is decided anew from the steps.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from wayword.agents.person import with_answerer
from wayword.core.action import Decision, Rejection
from wayword.core.dataset import Dataset, Task
from wayword.core.game import Game
from wayword.core.trajectory import Step, Trajectory
from wayword.metrics import scoring
from wayword.runs.verify import recorded_answers

Answer = tuple[str, int]
"""The first cause, and the flagged step; 0 where the limit is below an expert's need."""


def truth(
    trajectory: Trajectory, dataset: Dataset, task: Task, limit: int | None
) -> Answer:
    """Return why a failed episode failed, and the step at which it was lost."""
    cause, step = _cause(trajectory, dataset, task)
    return cause, step or _lost(trajectory, dataset, task, limit)


def _lost(
    trajectory: Trajectory, dataset: Dataset, task: Task, limit: int | None
) -> int:
    """Go back from the end until experts who take over would succeed; the next step lost it."""
    if trajectory.ended == "step_limit":
        limit = max(Counter(step.actor for step in trajectory.steps).values())
    for after in range(len(trajectory.steps) - 1, -1, -1):
        if _experts_succeed(trajectory, dataset, task, after, limit):
            return after + 1
    return 0


def _experts_succeed(
    trajectory: Trajectory, dataset: Dataset, task: Task, after: int, limit: int | None
) -> bool:
    world = with_answerer(dataset.world(task.episode), recorded_answers(trajectory))
    game = Game(world, task.episode, limit)
    for step in trajectory.steps[:after]:
        game.act(step.actor, step.decision)
    plans: dict[str, Any] = {}
    feedbacks: dict[str, Any] = {}
    for actor in game.turns():
        if actor not in plans:
            how = _solution(trajectory, dataset, actor)
            plans[actor] = dataset.plan(task, game.world, actor, how)
        try:
            action = plans[actor].send(feedbacks.get(actor))
        except Exception:  # noqa: BLE001 - an expert that cannot go on does not succeed
            break
        feedbacks[actor] = game.act(actor, Decision(action)).feedback
    (scores,) = scoring.score(dataset, [(task, game.finished())])
    return scores.get(_success(dataset), 0.0) > 0.5


def _success(dataset: Dataset) -> str:
    return str(dataset.family.success)


def _solution(trajectory: Trajectory, dataset: Dataset, actor: str) -> str:
    kinds = [k for k in ("expert", "shortest", "gold") if k in dataset.solutions]
    runs_skills = any(a.name.startswith("go_") for a in trajectory.actions(actor))
    if kinds[0] == "expert" and "skills" in dataset.solutions:
        runs_skills |= any(a.name == "goto" for a in trajectory.actions(actor))
        return "skills" if runs_skills else "expert"
    return kinds[0]


def _cause(trajectory: Trajectory, dataset: Dataset, task: Task) -> Answer:
    """Return the first cause, and its step where that is not where the episode was lost."""
    steps = trajectory.steps
    if all(isinstance(step.decision, Rejection) for step in steps):
        return _habit(trajectory), 1
    family = dataset.family.name
    stopped = trajectory.ended == "stopped"
    cause = ""
    if family == "objectnav":
        cause = _search(trajectory, task)
    elif family in ("indoor", "street"):
        cause = "passed_goal" if _passed(trajectory, dataset, task) else ""
    elif family == "household":
        knew = _knew_alone(trajectory, task)
        if knew:
            turns = [n for n, step in enumerate(steps, 1) if step.actor == knew]
            return "order_not_sent", turns[-1]
        answers = [r.get("answer") for r in trajectory.state["actors"].values()]
        is_question = hasattr(task.reference, "answer")
        if is_question and any(answers):
            cause = "wrong_answer"
        elif not is_question and _picked_unnamed(steps, task.episode.instruction):
            cause = "wrong_object"
    elif family == "two_phase" and stopped:
        last = steps[-1].decision
        chose = isinstance(last, Decision) and last.action.name == "go"
        cause = "wrong_object" if chose else ""
    if not cause and family == "babyai":
        named = _picked_unnamed(steps, task.episode.instruction)
        cause = "wrong_object" if named else ""
    if cause:
        return cause, 0
    return ("stopped_early" if stopped else _habit(trajectory)), 0


def _search(trajectory: Trajectory, task: Task) -> str:
    targets = task.reference.targets  # type: ignore[attr-defined]
    in_view = False
    has_detector = False
    reports: list[bool] = []  # whether each was about a target in view
    gave_up = False
    for step in trajectory.steps:
        shown = getattr(step.observation, "shown", None)
        if shown is None and isinstance(step.observation, dict):
            shown = step.observation.get("shown")
        away = []
        for each in shown or ():
            fields = each if isinstance(each, dict) else vars_of(each)
            if fields["id"] in targets:
                away.append(fields["away"])
        in_view |= bool(away)
        for note in step.notes:
            has_detector |= note.kind in ("turn", "gave_up", "grounded")
            gave_up |= note.kind == "gave_up"
            if note.kind == "grounded":
                reports.append(note.details.get("distance") in away)
    if not in_view:
        return "never_seen"
    if trajectory.ended == "stopped" and not gave_up and reports and not reports[-1]:
        return "false_alarm"
    return "detector_missed" if has_detector and not any(reports) else "seen_not_taken"


def vars_of(item: Any) -> dict[str, Any]:
    return {"id": item.id, "away": item.away}


def _passed(trajectory: Trajectory, dataset: Any, task: Task) -> bool:
    """True if the walk would have succeeded with an end at an earlier step."""
    for number in range(len(trajectory.steps)):
        part = Trajectory(
            trajectory.episode_id, trajectory.start, trajectory.steps[:number], ended="stopped"
        )  # fmt: skip
        (scores,) = scoring.score(dataset, [(task, part)])
        if scores[_success(dataset)] > 0.5:
            return True
    return False


def _knew_alone(trajectory: Trajectory, task: Task) -> str:
    """Return the actor whose own instruction alone names an unmet goal, if it never said so."""
    texts = task.episode.extra.get("instructions") or {}
    reference: Any = task.reference
    words: set[str] = set()
    for goal in reference.goals:
        if goal.met(trajectory.state) < goal.parts:
            for part in getattr(goal, "dishes", (goal,)):
                ids = [*getattr(part, "objects", ()), *getattr(part, "lamps", ())]
                ids += [part.object] if getattr(part, "object", "") else []
                kinds = [re.split(r"[|_]\d", each)[0] for each in ids]
                words |= {kind.replace("_", " ").lower() for kind in kinds}

    def names(text: str) -> bool:
        spaced = text.lower().replace("_", " ")  # lettuce_1 names a lettuce
        return any(re.search(rf"\b{word}s?\b", spaced) for word in words)

    knew = [actor for actor, text in texts.items() if names(text)]
    if len(knew) != 1 or names(task.episode.instruction):
        return ""
    for step in trajectory.of(knew[0]):
        action = getattr(step.decision, "action", None)
        if (
            action
            and action.name in ("chat", "ask")
            and names(" ".join(action.arguments))
        ):
            return ""
    return knew[0]


def _picked_unnamed(steps: Sequence[Step], instruction: str) -> bool:
    named = set(re.findall(r"[a-z]+", instruction.lower()))
    for step in steps:
        action = getattr(step.decision, "action", None)
        if action is None or not step.feedback.ok or not action.arguments:
            continue
        if action.name in ("pick_up", "pickup", "pick", "grab"):
            words = re.findall(r"[a-z]+", action.arguments[0].lower())
            if words and not any(
                word in named or f"{word}s" in named for word in words
            ):
                return True
    return False


def _habit(trajectory: Trajectory) -> str:
    """Return the first cause of an episode that ran out of steps: its habits."""
    steps = trajectory.steps
    actors = list(dict.fromkeys(step.actor for step in steps))
    for actor in actors:
        poses = trajectory.visited(actor)
        seen: Counter[Any] = Counter()
        for pose, step in zip(poses, trajectory.of(actor), strict=False):
            action = getattr(step.decision, "action", None)
            is_idle = action and action.name in ("turn_left", "turn_right", "wait")
            waits = len(actors) > 1 and is_idle
            if action is not None and pose and not waits:
                seen[repr(sorted(pose.items())), str(action)] += 1
        if seen and max(seen.values()) >= 3:
            return "looped"
    for actor in actors:
        places = [_spot(pose) for pose in trajectory.visited(actor)]
        moved = [b for a, b in pairwise(places) if a != b and b is not None]
        if len(moved) >= 10:
            if 3 * (len(moved) - len(set(moved))) >= len(moved):
                return "wandered"
            if all(isinstance(place, tuple) for place in places):
                length = sum(math.dist(a, b) for a, b in pairwise(places))
                if length > 3 * math.dist(places[0], places[-1]):
                    return "wandered"
    rejected = sum(isinstance(step.decision, Rejection) for step in steps)
    if rejected and 4 * rejected >= len(steps):
        return "rejected"
    speakers = set()
    for actor in actors:
        if {action.name for action in trajectory.actions(actor)} & {"chat", "ask"}:
            speakers.add(actor)
    if len(actors) > 1 and speakers != set(actors):
        return "partner_silent"
    return "ran_out"


def _spot(pose: Any) -> Any:
    if isinstance(pose.get("x"), int | float):
        return round(pose["x"], 2), round(pose["y"], 2)
    return pose.get("viewpoint") or pose.get("panorama")
