"""Advice: how much of what agents asked their experts came to nothing.

Agents that consult experts (DiscussNav) leave a note ``scene_expert`` an episode and a note
``expert_failed`` for each answer that was nonsense, too late or missing.
"""

from __future__ import annotations

from wayword.core.trajectory import Trajectory
from wayword.evaluation.metric import Metric

METRICS: tuple[Metric, ...] = (
    Metric(
        "advice_lost",
        "Lost advice",
        "count",
        "lower",
        "experts that answered nonsense, too late or not at all, and were done without",
    ),
)
CONSULTS = ("scene_expert", "expert_failed")


def measure(trajectory: Trajectory) -> dict[str, float]:
    """The metric of one episode; none where nobody was consulted."""
    kinds = [note.kind for note in trajectory.notes() if note.kind in CONSULTS]
    return {"advice_lost": float(kinds.count("expert_failed"))} if kinds else {}
