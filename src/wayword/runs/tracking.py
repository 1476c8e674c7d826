"""Experiment trackers: a run's or a training's figures in Trackio, Weights & Biases or MLflow.

``--track trackio:PROJECT``, ``wandb:PROJECT`` (or ``ENTITY/PROJECT``), ``mlflow:EXPERIMENT``. Where
figures go (a server, a folder, offline) is the tracker's own setting, such as ``WANDB_MODE`` or
``MLFLOW_TRACKING_URI``. A tracker that fails never ends a run.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from wayword.core.episode import Json
from wayword.core.errors import UsageError, suggest
from wayword.core.secrets import redacted
from wayword.runs.active import OnProgress
from wayword.runs.plan import Plan

EXTRAS = {"trackio": "trackio", "wandb": "wandb", "mlflow": "mlflow"}
"""Kind of tracker -> the extra that installs it."""
_LONGEST = 250  # characters of a parameter, MLflow's own limit


class Tracker:
    """Trackio, Weights & Biases or MLflow; ``step`` counts finished episodes or training steps.

    Its first error becomes a notice and ends tracking, not the run. Figures that are not finite are
    left out. Use as a context manager.
    """

    def __init__(
        self, spec: str, name: str, config: Mapping[str, Json], notify: Callable[[str], None]
    ) -> None:
        kind, _, project = spec.partition(":")
        self._library: Any = import_module(kind)
        self._mlflow, self._spec, self._notify = kind == "mlflow", spec, notify
        if self._mlflow:
            self._library.set_experiment(project)
            self._library.start_run(run_name=name)
            self._library.log_params({k: str(value)[:_LONGEST] for k, value in config.items()})
        else:
            owner, _, project_name = project.rpartition("/")
            entity = {"entity": owner} if owner else {}
            self._library.init(project=project_name, name=name, config=dict(config), **entity)

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Log these figures."""
        finite = {key: float(value) for key, value in values.items() if math.isfinite(value)}
        if self._mlflow:  # the only special characters it allows in names
            finite = {key.replace(":", "/").replace("%", ""): v for key, v in finite.items()}
            self._try("log_metrics", finite, step=step)
        else:
            self._try("log", finite, step=step)

    def close(self) -> None:
        """End the tracker's run."""
        self._try("end_run" if self._mlflow else "finish")
        self._library = None

    def __enter__(self) -> Tracker:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _try(self, method: str, *values: object, **options: object) -> None:
        if self._library is None:
            return
        try:
            getattr(self._library, method)(*values, **options)
        except Exception as error:  # noqa: BLE001 - a run continues without its tracker
            self._library = None
            line = redacted(f"--track {self._spec}: {type(error).__name__}: {error}")
            self._notify(f"{line}; the run continues without it")


class Means:
    """Progress of a run as figures: each episode's scores, and their means so far."""

    def __init__(self, tracker: Tracker) -> None:
        self._tracker, self._sums, self._counts = tracker, dict[str, float](), dict[str, int]()

    def __call__(self, done: int, total: int, scores: Mapping[str, float]) -> None:
        """Log a finished episode; other reports of a run are ignored."""
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
    spec: str, name: str, config: Mapping[str, Json], notify: Callable[[str], None]
) -> Tracker:
    """The tracker of ``KIND:PROJECT``, with a new run of that name.

    ``config`` describes the run; secrets of this process are removed. Raises
    ``UsageError`` for an unknown kind, a missing project or library, and one that does not start.
    """
    kind, _, project = spec.partition(":")
    if kind not in EXTRAS or not project:
        hint = suggest(kind, list(EXTRAS)) if kind not in EXTRAS else "name a project"
        raise UsageError(f"--track {spec}: write KIND:PROJECT, as in trackio:houses; {hint}")
    clean = {k: redacted(value) if isinstance(value, str) else value for k, value in config.items()}
    try:
        return Tracker(spec, name, clean, notify)
    except ImportError:
        remedy = f"pip install 'wayword[{EXTRAS[kind]}]'"
        raise UsageError(f"--track {spec}: {kind} is not installed: {remedy}") from None
    except Exception as error:
        line = redacted(f"--track {spec}: {type(error).__name__}: {error}")
        raise UsageError(" ".join(line.split())) from error


@contextmanager
def tracked(
    spec: str, plan: Plan, progress: OnProgress | None, notify: Callable[[str], None]
) -> Iterator[OnProgress | None]:
    """A progress callback that also logs to the tracker of ``spec``; unchanged if that is empty."""
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
    with open_tracker(spec, plan.out.name if plan.out else named, config, notify) as tracker:
        means = Means(tracker)

        def both(done: int, total: int, scores: Mapping[str, float]) -> None:
            means(done, total, scores)
            if progress is not None:
                progress(done, total, scores)

        yield both
