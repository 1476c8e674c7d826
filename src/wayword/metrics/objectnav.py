"""Metrics of object-goal navigation: two definitions of success, each with its SPL.

* ``success_visible``: LGX's. A target is truly in view when the agent stops (Dorbala et al. 2024,
  section III-B).
* ``success_challenge``: RoboTHOR's. The agent stops with a target in view within 1 m (Deitke et al.
  2020), measured along the floor to the nearest point of the target's box.

SPL weights each with l / max(p, l), p being the metres gone and l the published length of the
shortest way (Anderson et al. 2018). An episode that ended at the step limit, or that was given up
with the target in view by chance, is judged by the same rule: only a stop counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wayword.core.dataset import Dataset, Task
from wayword.core.episode import Json
from wayword.core.metric import Metric
from wayword.core.trajectory import Trajectory
from wayword.metrics.accounting import psr
from wayword.metrics.scoring import Pair
from wayword.worlds.objectnav.world import ObjectNavReference

METRICS: tuple[Metric, ...] = (
    Metric(
        "success_visible", "SR visible", "rate", "higher", "a target is in view at the stop (LGX)"
    ),
    Metric("spl_visible", "SPL visible", "rate", "higher", "success_visible x l / max(p, l)"),
    Metric(
        "success_challenge",
        "SR challenge",
        "rate",
        "higher",
        "a target is in view within 1 m at the stop (RoboTHOR)",
    ),
    Metric("spl_challenge", "SPL challenge", "rate", "higher", "success_challenge x l / max(p, l)"),
    Metric(
        "psr",
        "PSR",
        "rate",
        "higher",
        "answers that name a listed object or direction, over questions asked; absent where none",
    ),
    Metric("tl", "TL", "metres", None, "metres gone"),
    Metric("turns", "Turns", "count", None, "full rotations in place"),
    Metric("motions", "Motions", "count", "lower", "steps of 0.25 m and turns of 30 degrees"),
)


class ObjectNavScorer:
    """Scores searches by what was truly in view at the end.

    >>> from wayword.metrics.scoring import scorer
    >>> [metric.key for metric in scorer("objectnav").metrics][:3]
    ['success_visible', 'spl_visible', 'success_challenge']

    Agents that ask a model leave a note ``asked`` an answer, with ``valid`` true or false.
    """

    family = "objectnav"
    metrics = METRICS

    def score(self, dataset: Dataset, pairs: Sequence[Pair]) -> list[dict[str, float]]:
        """The metrics of each pair; none where the reference is of another family."""
        return [_one(task, trajectory) for task, trajectory in pairs]


def _one(task: Task, trajectory: Trajectory) -> dict[str, float]:
    reference, state = task.reference, trajectory.state or {}
    if not isinstance(reference, ObjectNavReference):
        return {}
    gone = float(state.get("metres", 0.0))
    found: dict[str, float] = {}
    for name, most in (("visible", float("inf")), ("challenge", reference.within)):
        success = float(stopped_at(state, reference.targets, most))
        found[f"success_{name}"] = success
        if reference.shortest is not None:
            best = reference.shortest
            found[f"spl_{name}"] = success * (best / max(gone, best) if best > 0 else 1.0)
    found["tl"] = gone
    found["motions"] = float(state.get("moves", 0) + state.get("turns", 0))
    found["turns"] = float(sum(note.kind == "turn" for note in trajectory.notes()))
    return {**found, **psr(trajectory)}


def stopped_at(state: Mapping[str, Json], targets: frozenset[str], most: float) -> bool:
    """Whether the search was stopped with one of the targets in view within ``most`` metres."""
    seen = state.get("in_view", ()) if state.get("stopped") else ()
    return any(one["id"] in targets and one["distance"] <= most + 1e-6 for one in seen)


scorer = ObjectNavScorer()
