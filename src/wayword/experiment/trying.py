"""How often a run's episodes may be tried, and who tells whether a trial succeeded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wayword.core.dataset import Dataset
from wayword.evaluation import scorer
from wayword.experiment.cast import AgentParts


def trials(agent: AgentParts, dataset: Dataset) -> Mapping[str, Any]:
    """``trials`` and ``judge`` of a :class:`~wayword.core.rollout.Setup`, by the agents' settings.

    Of several agents the one that may try most often decides; there is a judge where one of them
    is told. Agents that do not learn try once, whatever their settings are called.
    """
    learners = [parts.settings for parts in agent.playing() if hasattr(parts.cls, "reflect")]
    most = max((int(getattr(settings, "trials", 1)) for settings in learners), default=1)
    told = any(getattr(settings, "verdict", "told") == "told" for settings in learners)
    return {"trials": most, "judge": scorer.judge(dataset) if told and most > 1 else None}
