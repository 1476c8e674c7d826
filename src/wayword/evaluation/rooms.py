"""Metrics of the rooms world: success, goal conditions, path weights, rearrangement, answers.

A dataset of the family has references that are ``RoomsReference``, judged on the true final state.

* Success and goal conditions: ALFRED (Shridhar et al. 2020, section 4.3), with its path weight,
  score x L* / max(L*, L). L* is the expert's number of low-level actions; L is the low-level
  actions carried out (those inside high-level ones too), and one for every turn that failed or was
  rejected. The stop counts in neither.
* Rearrangement: Weihs et al. 2021, section 5, and ai2thor-rearrangement's ``prop_misplaced``
  (things out of place in the end over things out of place at first: above one where more was
  disturbed than restored) and ``prop_fixed_strict`` (share put right, 0 where anything that was
  right no longer is).
* Answers: exact up to case, surrounding blanks and a full stop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wayword.core.action import STOP
from wayword.core.dataset import Dataset, Task
from wayword.core.decision import Decision
from wayword.core.episode import Json
from wayword.core.trajectory import Step, Trajectory
from wayword.datasets.homes.goals import (
    AnswerReference,
    RearrangementReference,
    RoomsReference,
)
from wayword.datasets.homes.solving import expert_length
from wayword.evaluation.metric import Metric
from wayword.evaluation.scorer import Pair
from wayword.worlds.rooms import RoomsWorld

QUESTIONS = ("exists", "contains", "counts")

METRICS: tuple[Metric, ...] = (
    Metric("sr", "SR", "rate", "higher", "all goal conditions hold, or the answer is right"),
    Metric("goal_sr", "Goal-SR", "rate", "higher", "share of the goal conditions that hold"),
    Metric("plw_sr", "PLW SR", "rate", "higher", "SR x L* / max(L*, L)"),
    Metric("plw_goal_sr", "PLW Goal-SR", "rate", "higher", "goal-SR x L* / max(L*, L)"),
    Metric("misplaced", "Misplaced", "rate", "lower", "things out of place, end over start"),
    Metric(
        "fixed_strict", "Fixed Strict", "rate", "higher",
        "share of the displaced things put right; 0 where anything else was disturbed",
    ),
    Metric("acc", "Acc", "rate", "higher", "the answer is exactly right"),
    *(
        Metric(f"acc_{kind}", f"Acc {kind}", "rate", "higher", f"accuracy on {kind} questions")
        for kind in QUESTIONS
    ),
    Metric("low_level", "Low-level", "count", None, "low-level actions, and failed turns"),
)  # fmt: skip


class RoomsScorer:
    """Scores final states of the rooms world.

        >>> from wayword.evaluation.scorer import scorer
        >>> [metric.key for metric in scorer("rooms").metrics][:4]
        ['sr', 'goal_sr', 'plw_sr', 'plw_goal_sr']

    An episode gets the metrics of its kind of task alone. The path-weighted ones are left out
    where the expert does not solve the episode. One that failed before its end is scored 0.
    """

    family = "rooms"
    metrics = METRICS

    def score(self, dataset: Dataset, pairs: Sequence[Pair]) -> list[dict[str, float]]:
        """The metrics of each pair; none where the references are not of this family."""
        return [self._one(dataset, task, trajectory) for task, trajectory in pairs]

    def _one(self, dataset: Dataset, task: Task, trajectory: Trajectory) -> dict[str, float]:
        reference = task.reference
        if not isinstance(reference, RoomsReference):
            return {}
        state = trajectory.state
        length = actions_taken(trajectory)
        if isinstance(reference, AnswerReference):
            right = answered(state, reference.answer)
            scores = {"acc": right, f"acc_{reference.kind}": right}
            share = right
        else:
            share = reference.met(state) / reference.parts() if state else 0.0
            scores = (
                rearranged(reference, state)
                if isinstance(reference, RearrangementReference)
                else {}
            )
        success = float(share == 1.0)
        found = {"sr": success, "goal_sr": share, **scores, "low_level": float(length)}
        best = expert_of(dataset, task)
        if best is not None:
            weight = best / max(best, length) if best else 1.0
            found |= {"plw_sr": success * weight, "plw_goal_sr": share * weight}
        return found


def actions_taken(trajectory: Trajectory) -> int:
    """L: low-level actions that were carried out, and turns of any actor that came to nothing."""
    failed = sum(_came_to_nothing(step) for step in trajectory.steps)
    actors: Mapping[str, Json] = trajectory.state.get("actors", {}) if trajectory.state else {}
    return failed + sum(int(record["low_level"]) for record in actors.values())


def _came_to_nothing(step: Step) -> bool:
    stops = isinstance(step.decision, Decision) and step.decision.action.name == STOP.name
    return not stops and not step.feedback.ok


def answered(state: Mapping[str, Json], right: str) -> float:
    """Whether anybody stopped with the right answer."""
    given = [record["answer"] for record in state.get("actors", {}).values()]
    return float(any(_plain(answer) == _plain(right) for answer in given if answer is not None))


def _plain(answer: str) -> str:
    return answer.strip().strip(".").strip().lower()


def rearranged(reference: RearrangementReference, state: Mapping[str, Json]) -> dict[str, float]:
    """``misplaced`` and ``fixed_strict``; with no final state, everything is where it was."""
    at_first = reference.parts()
    if not state:
        return {"misplaced": 1.0, "fixed_strict": 0.0}
    fixed = reference.met(state)
    disturbed = sum(1 - other.met(state) for other in reference.others)
    return {
        "misplaced": (at_first - fixed + disturbed) / at_first,
        "fixed_strict": 0.0 if disturbed else fixed / at_first,
    }


def expert_of(dataset: Dataset, task: Task) -> int | None:
    """L* of a task, found out by playing it where the reference does not say."""
    world = dataset.world(task.episode)
    return expert_length(world, task) if isinstance(world, RoomsWorld) else None


scorer = RoomsScorer()
