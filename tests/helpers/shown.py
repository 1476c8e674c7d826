"""The page of a record, derived and rendered."""

from __future__ import annotations

from collections.abc import Sequence

from wayword.core.metric import Metric
from wayword.runs.record import EpisodeRecord
from wayword.viewer import episode
from wayword.viewer.data import Sources
from wayword.viewer.document import Document
from wayword.viewer.episode import Links


def episode_page(
    record: EpisodeRecord,
    metrics: Sequence[Metric],
    sources: Sources,
    run: str,
    links: Links,
    served: bool = False,
) -> str:
    """Return the page that a run's folder of pages has."""
    document = Document.of(record, sources).json(0.0 if served else 1.0)
    return episode.episode_page(document, metrics, run, links, served)
