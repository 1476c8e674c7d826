"""Experiment trackers: metrics of a run or a training in Trackio, Weights & Biases or MLflow.

``--track trackio:PROJECT``, ``wandb:PROJECT`` (or ``ENTITY/PROJECT``), ``mlflow:EXPERIMENT``. The
tracker's own settings, such as ``WANDB_MODE`` or ``MLFLOW_TRACKING_URI``, define the destination (a
server, a folder, offline). A failing tracker never ends a run.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from wayword.core.episode import Json
from wayword.core.errors import UsageError, suggest
from wayword.core.secrets import redacted
from wayword.runs.active import OnProgress
from wayword.runs.plan import Plan

EXTRAS = {"trackio": "trackio", "wandb": "wandb", "mlflow": "mlflow"}
"""Name of each tracker's library, and the extra that installs it."""
_MAX_PARAMETER = 250  # characters: MLflow's limit


class Tracker:
    """A logger of metrics to Trackio, Weights & Biases or MLflow. Its first error
    is reported as a notice and ends tracking, not the run. Values that are not finite are left
    out."""

    def __init__(
        self,
        spec: str,
        name: str,
        config: Mapping[str, Json],
        notify: Callable[[str], None],
    ) -> None:
        kind, _, project = spec.partition(":")
        self._library: Any = import_module(kind)
        self._mlflow, self._spec, self._notify = kind == "mlflow", spec, notify
        if self._mlflow:
            self._library.set_experiment(project)
            self._library.start_run(run_name=name)
            parameters = {
                key: str(value)[:_MAX_PARAMETER] for key, value in config.items()
            }
            self._library.log_params(parameters)
        else:
            owner, _, project_name = project.rpartition("/")
            entity = {"entity": owner} if owner else {}
            self._library.init(
                project=project_name, name=name, config=dict(config), **entity
            )

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Log metrics; ``step`` counts finished episodes or training steps."""
        finite = {
            key: float(value) for key, value in values.items() if math.isfinite(value)
        }
        if self._mlflow:  # allows neither ":" nor "%" in names
            finite = {
                key.replace(":", "/").replace("%", ""): v for key, v in finite.items()
            }
        self._try("log_metrics" if self._mlflow else "log", finite, step=step)

    def close(self) -> None:
        self._try("end_run" if self._mlflow else "finish")
        self._library = None

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
    """A progress callback that logs each episode's scores and their means so far."""

    def __init__(self, tracker: Tracker) -> None:
        self._tracker, self._sums, self._counts = (
            tracker,
            dict[str, float](),
            dict[str, int](),
        )

    def __call__(self, done: int, total: int, scores: Mapping[str, float]) -> None:
        """Log a finished episode; ignore other reports of progress."""
        if not scores or "steps_so_far" in scores:
            return
        for key, value in scores.items():
            if math.isfinite(value):
                self._sums[key] = self._sums.get(key, 0.0) + value
                self._counts[key] = self._counts.get(key, 0) + 1
        means = {
            f"mean/{key}": total / self._counts[key]
            for key, total in self._sums.items()
        }
        episode = {f"episode/{key}": value for key, value in scores.items()}
        self._tracker.log({**episode, **means, "episodes": done}, done)


def open_tracker(
    spec: str, name: str, config: Mapping[str, Json], notify: Callable[[str], None]
) -> Tracker:
    """Start a run called ``name`` in the tracker ``KIND:PROJECT``; ``config`` describes the run,
    with secrets redacted. Raises ``UsageError`` for an unknown tracker, a missing project or
    library, and if the tracker does not start."""
    kind, _, project = spec.partition(":")
    if kind not in EXTRAS or not project:
        hint = (
            suggest(kind, list(EXTRAS))
            if kind not in EXTRAS
            else "the project is missing"
        )
        raise UsageError(
            f"--track {spec}: write KIND:PROJECT, for example trackio:houses; {hint}"
        )
    clean = {
        k: redacted(value) if isinstance(value, str) else value
        for k, value in config.items()
    }
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
    """A progress callback that also logs to a tracker; ``progress`` itself if ``spec`` is empty."""
    if not spec:
        yield progress
        return
    config: dict[str, Json] = {"dataset": plan.on}
    config |= {key: getattr(plan, key) for key in ("agent", "model", "seed", "limit")}
    config["settings"] = json.dumps(plan.settings, default=str)
    name = "-".join(
        part for part in (Path(plan.agent).stem, plan.on, plan.model) if part
    )
    name = plan.out.name if plan.out else name
    with closing(open_tracker(spec, name, config, notify)) as tracker:
        means = Means(tracker)

        def both(done: int, total: int, scores: Mapping[str, float]) -> None:
            means(done, total, scores)
            if progress is not None:
                progress(done, total, scores)

        yield both
