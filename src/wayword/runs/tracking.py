"""Experiment trackers: a run's or a training's figures in Trackio, Weights & Biases or MLflow.

``--track trackio:PROJECT``, ``wandb:PROJECT`` (or ``ENTITY/PROJECT``), ``mlflow:EXPERIMENT``. Where
figures go (a server, a folder, offline) is the tracker's own setting, such as ``WANDB_MODE`` or
``MLFLOW_TRACKING_URI``. A tracker that fails never ends a run: it is told of once and left alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from wayword.core.episode import Json
from wayword.core.errors import UsageError, suggest
from wayword.core.secrets import redacted
from wayword.runs.active import OnProgress
from wayword.runs.plan import Plan

EXTRAS = {"trackio": "trackio", "wandb": "wandb", "mlflow": "mlflow"}
"""Kind of tracker -> the extra that installs it."""
_LONGEST = 250
"""Characters of a parameter, MLflow's own limit."""


class Tracker(Protocol):
    """Takes figures; ``step`` counts finished episodes, or steps of training."""

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Keep these figures."""
        ...

    def close(self) -> None:
        """Everything is told."""
        ...


class _Runs:
    """Trackio and Weights & Biases: the same ``init``, ``log`` and ``finish``."""

    def __init__(self, library: Any, project: str, name: str, config: Mapping[str, Json]) -> None:
        owner, _, own = project.rpartition("/")
        where = {"entity": owner} if owner else {}
        self._library = library
        library.init(project=own, name=name, config=dict(config), **where)

    def log(self, values: Mapping[str, float], step: int) -> None:
        self._library.log(dict(values), step=step)

    def close(self) -> None:
        self._library.finish()


class _Mlflow:
    def __init__(self, library: Any, project: str, name: str, config: Mapping[str, Json]) -> None:
        self._library = library
        library.set_experiment(project)
        library.start_run(run_name=name)
        library.log_params({key: str(value)[:_LONGEST] for key, value in config.items()})

    def log(self, values: Mapping[str, float], step: int) -> None:
        # MLflow takes no other signs in names of figures
        named = {key.replace(":", "/").replace("%", ""): value for key, value in values.items()}
        self._library.log_metrics(named, step=step)

    def close(self) -> None:
        self._library.end_run()


class SafeTracker:
    """A tracker that cannot do harm: its errors are told of once, as a line, and end it.

    Figures that are not finite are left out. Use as a context manager.
    """

    def __init__(self, tracker: Tracker, spec: str, tell: Callable[[str], None]) -> None:
        self._tracker: Tracker | None = tracker
        self._spec, self._tell = spec, tell

    def log(self, values: Mapping[str, float], step: int) -> None:
        finite = {key: float(value) for key, value in values.items() if math.isfinite(value)}
        self._try(lambda tracker: tracker.log(finite, step))

    def close(self) -> None:
        self._try(lambda tracker: tracker.close())
        self._tracker = None

    def __enter__(self) -> SafeTracker:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _try(self, act: Callable[[Tracker], None]) -> None:
        if self._tracker is None:
            return
        try:
            act(self._tracker)
        except Exception as error:  # noqa: BLE001 - whatever a tracker raises, the run goes on
            self._tracker = None
            line = redacted(f"--track {self._spec}: {type(error).__name__}: {error}")
            self._tell(f"{line}; the run goes on without it")


class Means:
    """Progress of a run as figures: each episode's scores, and their means so far."""

    def __init__(self, tracker: Tracker) -> None:
        self._tracker, self._sums, self._counts = tracker, dict[str, float](), dict[str, int]()

    def __call__(self, done: int, total: int, scores: Mapping[str, float]) -> None:
        """An episode has ended; anything else that a run reports is left out."""
        if not scores or "steps_so_far" in scores:
            return
        for key, value in scores.items():
            if math.isfinite(value):
                self._sums[key] = self._sums.get(key, 0.0) + value
                self._counts[key] = self._counts.get(key, 0) + 1
        means = {f"mean/{key}": total / self._counts[key] for key, total in self._sums.items()}
        episode = {f"episode/{key}": value for key, value in scores.items()}
        self._tracker.log({**episode, **means, "episodes": done}, done)


def open_tracker(
    spec: str, name: str, config: Mapping[str, Json], tell: Callable[[str], None]
) -> SafeTracker:
    """The tracker that ``KIND:PROJECT`` names, with a run of that name begun.

    ``config`` says what is run; secrets that this process knows are taken out. Raises
    ``UsageError`` for an unknown kind, a missing project or library, and one that does not begin.
    """
    kind, _, project = spec.partition(":")
    if kind not in EXTRAS or not project:
        hint = suggest(kind, list(EXTRAS)) if kind not in EXTRAS else "name a project"
        raise UsageError(f"--track {spec}: write KIND:PROJECT, as in trackio:houses; {hint}")
    clean = {key: redacted(value) if isinstance(value, str) else value
             for key, value in config.items()}  # fmt: skip
    try:
        library = import_module(kind)
        build = _Mlflow if kind == "mlflow" else _Runs
        return SafeTracker(build(library, project, name, clean), spec, tell)
    except ImportError:
        remedy = f"pip install 'wayword[{EXTRAS[kind]}]'"
        raise UsageError(f"--track {spec}: {kind} is not installed: {remedy}") from None
    except Exception as error:
        line = redacted(f"--track {spec}: {type(error).__name__}: {error}")
        raise UsageError(" ".join(line.split())) from error


@contextmanager
def tracked(
    spec: str, plan: Plan, progress: OnProgress | None, tell: Callable[[str], None]
) -> Iterator[OnProgress | None]:
    """A run's progress, told to the tracker of ``spec`` too; unchanged where that is empty."""
    if not spec:
        yield progress
        return
    config: dict[str, Json] = {
        "agent": plan.agent,
        "dataset": plan.on,
        "model": plan.model,
        "seed": plan.seed,
        "limit": plan.limit,
        "settings": json.dumps(plan.settings, default=str),
    }
    named = "-".join(part for part in (Path(plan.agent).stem, plan.on, plan.model) if part)
    with open_tracker(spec, plan.out.name if plan.out else named, config, tell) as tracker:
        means = Means(tracker)

        def both(done: int, total: int, scores: Mapping[str, float]) -> None:
            means(done, total, scores)
            if progress is not None:
                progress(done, total, scores)

        yield both
