"""Experiment trackers: metrics of a run or a training in Trackio, Weights & Biases or MLflow.

``--track trackio:PROJECT``, ``wandb:PROJECT`` (or ``ENTITY/PROJECT``), ``mlflow:EXPERIMENT``. The
tracker's own settings, such as ``WANDB_MODE`` or ``MLFLOW_TRACKING_URI``, define the destination (a
server, a folder, offline). A failing tracker never ends a run.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from importlib import import_module
from typing import Any

from wayword.core.episode import Json, JsonObject
from wayword.core.errors import UsageError, install_command, suggest
from wayword.core.files import text_checksum
from wayword.core.secrets import redacted
from wayword.core.visible import single_line
from wayword.runs import json_lines
from wayword.runs.active import OnProgress, RunListener
from wayword.runs.plan import Plan
from wayword.runs.record import DROPPED, RecordedRun

EXTRAS = {"trackio": "trackio", "wandb": "wandb", "mlflow": "mlflow"}
"""Name of each tracker's library, and the extra that installs it."""
MLFLOW_TAG = "wayword.run"
_MAX_PARAMETER = 250  # characters: MLflow's limit
# Characters that MLflow refuses in names of metrics.
_NOT_OF_MLFLOW = re.compile(r"[^\w\-. /]", re.ASCII)


class Tracker:
    """A logger of metrics to Trackio, Weights & Biases or MLflow. With a ``run_id``, the tracker's
    run of that id is resumed, if there is one. The first error is reported as a notice and ends
    tracking, not the run. Values that are not finite are left out."""

    is_empty = False
    """True if the tracker has no earlier part of the run, or replaces it: the parts of a W&B run
    that is offline replace each other when they are synced."""

    def __init__(
        self,
        spec: str,
        name: str,
        config: JsonObject,
        notify: Callable[[str], None],
        run_id: str = "",
    ) -> None:
        kind, _, project = spec.partition(":")
        self._library: Any = import_module(kind)
        self._mlflow = kind == "mlflow"
        self._spec = spec
        self._notify = notify
        if self._mlflow:
            self._open_mlflow(project, name, config, run_id)
            return
        owner, _, project_name = project.rpartition("/")
        options: dict[str, Any] = {}
        if owner:
            options["entity"] = owner
        if run_id:
            options["resume"] = "allow"
        # A resumed run may have other settings, which are then the newer ones.
        if kind == "wandb":
            # A program may have a run of its own open, whose metrics are not these.
            options["reinit"] = "create_new"
        if run_id and kind == "wandb":
            options |= {"id": run_id, "allow_val_change": True}
        elif run_id:
            # Trackio resumes by the name, and two run folders may have the same
            name = f"{name}-{run_id[:6]}"
        options |= {"project": project_name, "name": name, "config": dict(config)}
        # Trackio's own functions find the run only in the context that opened it.
        try:
            opened = self._library.init(**options)
        except Exception as error:
            if "deleted" not in str(error) or "id" not in options:
                raise
            # W&B never gives the ID of a deleted run again.
            opened = self._library.init(**options | {"id": f"{run_id}-2"})
        self._library = opened or self._library
        # W&B resumes no run that is offline. Trackio shows a new run only by its next step.
        resumed = getattr(opened, "resumed", getattr(opened, "_next_step", True))
        self.is_empty = not resumed

    def _open_mlflow(
        self,
        project: str,
        name: str,
        config: JsonObject,
        run_id: str,
    ) -> None:
        """Resume the run with this tag, or start one. Parameters of a run cannot change."""
        self._library.set_experiment(project)
        if run_id:
            same = f"tags.`{MLFLOW_TAG}` = '{run_id}'"
            # By a tag, because MLflow chooses the IDs of runs itself.
            found = self._library.search_runs(filter_string=same, output_format="list")
            if found:
                self._library.start_run(run_id=found[0].info.run_id)
                return
        self.is_empty = True
        options: dict[str, Any] = {}
        if run_id:
            options["tags"] = {MLFLOW_TAG: run_id}
        self._library.start_run(run_name=name, **options)
        parameters = {key: str(value)[:_MAX_PARAMETER] for key, value in config.items()}
        self._library.log_params(parameters)

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Log metrics; ``step`` counts finished episodes or training steps."""
        finite = {
            key: float(value) for key, value in values.items() if math.isfinite(value)
        }
        if self._mlflow:
            finite = {
                _NOT_OF_MLFLOW.sub("_", key.replace(":", "/")): v
                for key, v in finite.items()
            }
            self._try("log_metrics", finite, step=step)
        else:
            self._try("log", finite, step=step)

    def close(self) -> None:
        """End the run in the tracker."""
        if self._mlflow:
            self._try("end_run")
        else:
            self._try("finish")
        self._library = None

    def _try(self, method: str, *values: object, **options: object) -> None:
        """Call a method of the library; a failing tracker is left, and the run
        continues."""
        if self._library is None:
            return
        try:
            getattr(self._library, method)(*values, **options)
        except Exception as error:  # noqa: BLE001 - a run continues without its tracker
            self._library = None
            line = redacted(f"--track {self._spec}: {type(error).__name__}: {error}")
            self._notify(f"{line}; the run continues without it")


class Means:
    """A progress callback that logs each episode's scores and their means so far. ``finished`` are
    scores from earlier sessions, logged again only if the tracker lacks them; ``dropped`` is the
    number of records removed from the run folder (``DROPPED``). The step counts finished episodes,
    and those that were dropped: trackers drop what comes at an earlier step."""

    def __init__(
        self,
        tracker: Tracker,
        finished: Iterable[Mapping[str, float]] = (),
        dropped: int = 0,
    ) -> None:
        self._tracker = tracker
        self._sums: dict[str, float] = {}
        self._counts: dict[str, int] = {}
        self._finished = 0
        self._dropped = dropped
        for scores in finished:
            if tracker.is_empty:
                self(0, 0, scores)  # ``done`` and ``total`` are not logged
            else:
                self._add(scores)

    def __call__(self, done: int, total: int, scores: Mapping[str, float]) -> None:
        """Log a finished episode; ignore other reports of progress."""
        # Reports within an episode would count it several times.
        if not scores or "steps_so_far" in scores:
            return
        self._add(scores)
        means = {
            f"mean/{key}": total / self._counts[key]
            for key, total in self._sums.items()
        }
        episode = {f"episode/{key}": value for key, value in scores.items()}
        values = {**episode, **means, "episodes": self._finished}
        self._tracker.log(values, self._finished + self._dropped)

    def _add(self, scores: Mapping[str, float]) -> None:
        """Add the scores of an episode."""
        self._finished += 1
        for key, value in scores.items():
            # One infinite distance would make the mean say nothing.
            if math.isfinite(value):
                self._sums[key] = self._sums.get(key, 0.0) + value
                self._counts[key] = self._counts.get(key, 0) + 1


def check_tracker(spec: str) -> None:
    """Raise ``UsageError`` for an unknown tracker, a missing project or a missing library."""
    kind, _, project = spec.partition(":")
    if kind not in EXTRAS or not project:
        hint = "the project is missing"
        if kind not in EXTRAS:
            hint = suggest(kind, EXTRAS)
        raise UsageError(
            f"--track {spec}: write KIND:PROJECT, for example trackio:houses; {hint}"
        )
    try:
        import_module(kind)
    except ImportError:
        remedy = install_command(EXTRAS[kind])
        raise UsageError(f"--track {spec}: {kind} is not installed: {remedy}") from None


def open_tracker(
    spec: str,
    name: str,
    config: JsonObject,
    notify: Callable[[str], None],
    run_id: str = "",
) -> Tracker:
    """Start a run called ``name`` in the tracker ``KIND:PROJECT``, or resume the one of ``run_id``;
    ``config`` describes the run, with secrets redacted. Raises the errors of :func:`check_tracker`,
    and ``UsageError`` if the tracker does not start."""
    check_tracker(spec)
    # A tracker's server is another machine, which may be down.
    clean = {
        k: redacted(value) if isinstance(value, str) else value
        for k, value in config.items()
    }
    try:
        return Tracker(spec, name, clean, notify, run_id)
    except Exception as error:
        line = redacted(f"--track {spec}: {type(error).__name__}: {error}")
        line = single_line(line).rstrip(".")
        remedy = "to play without the tracker, leave --track out"
        raise UsageError(f"{line}; {remedy}") from error


class TrackedProgress:
    """A progress callback that also logs a run to a tracker. The tracker's run is opened when there
    are episodes to play, and is the same for all sessions of a run folder."""

    def __init__(
        self,
        spec: str,
        plan: Plan,
        progress: OnProgress | None,
        notify: Callable[[str], None],
    ) -> None:
        check_tracker(spec)
        self._spec = spec
        self._plan = plan
        self._notify = notify
        self._progress = progress
        self._tracker: Tracker | None = None
        self._means: Means | None = None

    def begin(self, run: RecordedRun) -> None:
        """Open the tracker's run of this run folder. Raises ``UsageError``."""
        if isinstance(self._progress, RunListener):
            self._progress.begin(run)
        plan = self._plan
        config = run.config
        name = (plan.out or run.path).name
        # The time of the start tells a run that was deleted and begun again from a resumed one.
        key = json.dumps([config["identity"], config.get("started")], sort_keys=True)
        run_id = text_checksum(key, 16)
        described: dict[str, Json] = {"dataset": plan.on}
        described |= {key: getattr(plan, key) for key in ("agent", "model", "seed")}
        described["settings"] = json.dumps(plan.settings, default=str)
        self._tracker = open_tracker(self._spec, name, described, self._notify, run_id)
        finished = (scores for _, scores in run.scores())
        dropped = sum(1 for _ in json_lines.read_members(run.path / DROPPED))
        self._means = Means(self._tracker, finished, dropped)

    def __call__(self, done: int, total: int, scores: Mapping[str, float]) -> None:
        if self._means is not None:
            self._means(done, total, scores)
        if self._progress is not None:
            self._progress(done, total, scores)

    def close(self) -> None:
        """Close the tracker."""
        if self._tracker is not None:
            self._tracker.close()


@contextmanager
def tracked(
    spec: str,
    plan: Plan,
    progress: OnProgress | None,
    notify: Callable[[str], None],
) -> Iterator[OnProgress | None]:
    """A progress callback that also logs to a tracker; ``progress`` itself if ``spec`` is empty."""
    if not spec:
        yield progress
        return
    with closing(TrackedProgress(spec, plan, progress, notify)) as both:
        yield both
