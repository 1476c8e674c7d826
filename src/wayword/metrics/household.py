"""Metrics of the household world: success, goal conditions, path weights, rearrangement, answers.

A dataset of the family has references that are ``HouseholdReference``, judged on the true
final state.

* Success and goal conditions: ALFRED (Shridhar et al. 2020, section 4.3), with its path weight,
  score x L* / max(L*, L). L* is the expert's number of low-level actions; L counts those carried
  out (also inside high-level ones), the stop, and every turn that failed or was rejected.
* Rearrangement: Weihs et al. 2021, section 5, and ai2thor-rearrangement's ``prop_misplaced``
  (objects out of place at the end over those at the start: above 1 if more were disturbed than
  restored), ``prop_fixed_strict`` (share of objects restored, 0 if any other was disturbed) and
  the challenge's ``success`` (all restored, nothing disturbed: ``sr_strict``).
* Answers: exact match, ignoring case, surrounding blanks and a final period.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wayword.core.action import STOP, Decision
from wayword.core.dataset import Dataset, Task
from wayword.core.episode import JsonObject
from wayword.core.errors import suggest
from wayword.core.trajectory import Trajectory
from wayword.core.world import World
from wayword.metrics import definitions
from wayword.metrics.scoring import EpisodeScorer, Standing
from wayword.worlds.household.goals import (
    AnswerReference,
    HouseholdReference,
    RearrangementReference,
)
from wayword.worlds.household.skills import PlannedReference
from wayword.worlds.household.world import HouseholdWorld

METRICS = definitions.HOUSEHOLD
_KEYS = frozenset(metric.key for metric in METRICS)


_OBJECT_FIELDS = {"objects", "receptacles", "movables", "lamps", "others"}
"""Fields of goals that hold ids of objects."""


class HouseholdScorer(EpisodeScorer):
    """Scores the final state of the household world.

        >>> from wayword.metrics.scoring import scorer
        >>> [metric.key for metric in scorer("household").metrics][:4]
        ['sr', 'goal_sr', 'sr_strict', 'misplaced']

    An episode gets only the metrics of its kind of task, path-weighted ones only if the expert
    solves it. An episode that failed before its end scores 0. Success needs a stop.
    """

    metrics = METRICS

    def task_problem(self, dataset: Dataset, task: Task) -> str:
        """Return which object of a goal is not in the home; empty if all are."""
        scene = getattr(dataset.world(task.episode), "scene", None)
        if not isinstance(task.reference, HouseholdReference) or scene is None:
            return ""
        known = scene.by_id()
        for goal in task.reference.goals:
            for name in _OBJECT_FIELDS & {*dir(goal)}:
                for each in getattr(goal, name):
                    if each not in known:
                        hint = suggest(str(each), list(known))
                        return (
                            f"a goal names {each!r}, which is not in the home; {hint}"
                        )
        return ""

    def score_episode(
        self,
        dataset: Any,
        task: Task,
        trajectory: Trajectory,
    ) -> dict[str, float]:
        """Return the scores of an episode, with path weights if the expert's length is known."""
        reference = task.reference
        if not isinstance(reference, HouseholdReference):
            return {}
        scores = score_state(reference, trajectory.state)
        workers: tuple[str, ...] = ()
        if isinstance(reference, PlannedReference):
            workers = reference.worker, *reference.helpers
        length = actions_taken(trajectory, workers)
        best = dataset.expert_length(task)
        # Path weights compare with the expert, so they need an episode that it solves.
        scores["low_level"] = float(length)
        if best is not None:
            for key in [key for key in ("sr", "goal_sr") if key in scores]:
                scores[f"plw_{key}"] = scores[key] * best / max(best, length)
        return scores

    def standing(self, dataset: Dataset, task: Task, world: World) -> Standing | None:
        """Return the goal conditions that are met now; an answer counts once it is given."""
        reference = task.reference
        if not isinstance(reference, HouseholdReference) or not isinstance(
            world,
            HouseholdWorld,
        ):
            return None
        if isinstance(reference, AnswerReference):
            right = bool(answer_is_right(world.now(), reference.answer))
            return Standing(right, int(right))
        # Conditions count as soon as they hold; success needs the stop as well.
        met = world.met(reference)
        parts = reference.parts()
        return Standing(met == parts and has_stopped(world.now()), met, parts)


def score_state(
    reference: HouseholdReference,
    state: JsonObject,
) -> dict[str, float]:
    """Return the scores of a final state, without path weights.

    An empty state, as of an episode that failed before its world was ready, meets no goal.
    """
    if isinstance(reference, AnswerReference):
        right = answer_is_right(state, reference.answer)
        return {"sr": right, f"acc_{reference.kind}": right, "acc": right}
    # An episode that failed before its end has no state, and has met nothing.
    share = reference.met(state) / reference.parts() if state else 0.0
    succeeded = share == 1.0 and has_stopped(state)
    scores = {"sr": float(succeeded), "goal_sr": share}
    if f"sr_{reference.kind}" in _KEYS:  # the tasks of ALFRED have a column each
        scores[f"sr_{reference.kind}"] = scores["sr"]
    if isinstance(reference, RearrangementReference):
        scores |= rearranged(reference, state)
    return scores


def has_stopped(state: JsonObject) -> bool:
    """True if an actor ended the task: a house that was merely left as requested is no success."""
    actors: JsonObject = state.get("actors", {})
    return any(bool(record.get("stopped")) for record in actors.values())


def actions_taken(trajectory: Trajectory, workers: Sequence[str] = ()) -> int:
    """Return L: low-level actions carried out, stops, and turns that failed or were rejected.

    With ``workers``, only theirs.
    """
    failed = 0
    for step in trajectory.steps:
        if not workers or step.actor in workers:
            decision = step.decision
            stops = isinstance(decision, Decision) and decision.action.name == STOP.name
            # The world counts the actions of skills; stops and failed turns are counted here.
            if stops or not step.feedback.ok:
                failed += 1
    if trajectory.state:
        actors: JsonObject = trajectory.state.get("actors", {})
    else:
        actors = {}
    counted = [
        record for name, record in actors.items() if not workers or name in workers
    ]
    return failed + sum(int(record["low_level"]) for record in counted)


def answer_is_right(state: JsonObject, right: str) -> float:
    """Return 1 if an actor stopped with the right answer, else 0."""

    def normalize(answer: str) -> str:
        """Return an answer in lower case, with ``true`` and ``false`` as ``yes`` and ``no``."""
        word = answer.strip().strip(".").strip().lower()
        # as LangSuitE's prompts ask for it
        return {"true": "yes", "false": "no"}.get(word, word)

    answers = [record["answer"] for record in state.get("actors", {}).values()]
    return float(
        any(normalize(each) == normalize(right) for each in answers if each is not None)
    )


def rearranged(
    reference: RearrangementReference,
    state: JsonObject,
) -> dict[str, float]:
    """Return ``sr_strict``, ``misplaced`` and ``fixed_strict``; no state counts as unchanged."""
    displaced = reference.parts()
    if not state:
        return {"sr_strict": 0.0, "misplaced": 1.0, "fixed_strict": 0.0}
    fixed = reference.met(state)
    # Objects that were in place at the start, and no longer are.
    disturbed = sum(1 - other.met(state) for other in reference.others)
    return {
        "sr_strict": float(fixed == displaced and not disturbed and has_stopped(state)),
        "misplaced": (displaced - fixed + disturbed) / displaced,
        "fixed_strict": 0.0 if disturbed else fixed / displaced,
    }


scorer = HouseholdScorer()
