"""The contents of a run folder, for tests that must not depend on the form of its files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wayword.runs import Plan, RunFolder, run
from wayword.runs.record import EpisodeRecord
from wayword.runs.reports import table


def records(path: Path) -> list[EpisodeRecord]:
    """The finished episodes, in the order they ended."""
    return list(RunFolder.read(path).records())


def episodes(path: Path) -> list[str]:
    """The ids of the finished episodes, in the order they ended."""
    return [record.episode_id for record in records(path)]


def failures(path: Path) -> list[tuple[str, str]]:
    """Episode and reason of every failure, in order."""
    return [
        (failed.episode_id, failed.reason) for failed in RunFolder.read(path).failures()
    ]


def config(path: Path) -> Mapping[str, Any]:
    """The run's config."""
    return RunFolder.read(path).config


def rows(*paths: Path, pool: bool = False) -> list[dict[str, Any]]:
    """The rows of ``wayword table --format json``."""
    found: list[dict[str, Any]] = json.loads(table(paths, "json", pool=pool))["rows"]
    return found


def played(plan: Plan) -> list[str]:
    """The ids of a run's finished episodes, in the order they ended."""
    return episodes(run(plan).path)
