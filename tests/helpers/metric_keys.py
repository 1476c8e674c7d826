"""Metrics of a family's episodes, and those that only some episodes have."""

from __future__ import annotations

from wayword.core.metric import Metric
from wayword.metrics import accounting
from wayword.metrics.scoring import scorer

RARE = frozenset({"reasoning_tokens", "cache_written_tokens", "estimated_calls", "steps_forgotten",
                  "examples_forgotten", "escalated"})  # fmt: skip
"""With reasoning models, cache writes, servers without counts, short prompts, and cascades."""
OF_OBJECTS = frozenset({"rgs", "rgspl"})
"""Of datasets whose references name an object."""


def columns(family: str) -> tuple[Metric, ...]:
    """The family's own metrics, then the accounting."""
    return (*scorer(family).metrics, *accounting.METRICS)
