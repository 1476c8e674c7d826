"""The result of a run in Python: episodes, tables and a data frame.

result = wayword.run("random", "houses", limit=20)
print(result.table(["sr", "spl"]))
result.to_dataframe().groupby("gold_length")["success"].mean()
print(result.compare("runs/other"))
"""

from __future__ import annotations

import webbrowser
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from wayword.core import registry
from wayword.core.dataset import Dataset, Task, of_ids
from wayword.core.errors import UsageError, WaywordError, needing
from wayword.core.files import short_path
from wayword.core.metric import is_solved
from wayword.core.rollout import Outcome
from wayword.core.visible import comma_separated
from wayword.runs import differences, lengths, reports
from wayword.runs.config import step_limit, success_of
from wayword.runs.opening import Trusted, dataset_of, trusted_files
from wayword.runs.record import EpisodeRecord, RecordedRun, RunFolder
from wayword.runs.remote import url_of
from wayword.runs.scored_runs import only
from wayword.settings import python_call

if TYPE_CHECKING:
    import pandas

    from wayword.runs.diagnosis import Diagnosis


class Text(str):
    """A string that notebooks display without quotes and escapes."""

    __slots__ = ()
    __repr__ = str.__str__


class Episodes(list[EpisodeRecord]):
    """The episodes of a result; a position that it does not have is a ``UsageError``."""

    def __repr__(self) -> str:
        """Return the number of episodes and the first ids: whole records fill pages."""
        ids = ", ".join(each.episode_id for each in self[:3])
        more = ", …" if len(self) > 3 else ""
        return f"<{len(self):,} episodes{ids and ': '}{ids}{more}>"

    def __getitem__(self, number: Any) -> Any:
        """Return the episode at a position, or those of a slice."""
        try:
            return super().__getitem__(number)
        except (IndexError, TypeError):
            raise UsageError(
                f"the result has {len(self)} episodes, numbered from 0, got [{number!r}]; find "
                "one by its episode_id"
            ) from None


@dataclass(frozen=True)
class RunResult:
    """The result of a run: its folder, outcome, notices for the user, and episodes.

        result = wayword.RunResult.read("runs/oracle")
        print(result.table(["sr", "ne"]), result.compare(other), result.plot("map"))
        result.episodes[0].scores["ne"], result.to_dataframe()

    ``resumed`` counts the episodes that were already finished, of the ``chosen`` ones. ``dataset``
    is opened on access.
    ``path`` and ``data`` are absolute, so that a result outlives a change of the current folder.
    """

    path: Path
    outcome: Outcome
    resumed: int
    notices: Sequence[str] = ()
    data: Path | None = field(default=None, repr=False)
    trusted: Trusted = field(default=(), repr=False)
    chosen: int = field(default=0, repr=False)

    def __repr__(self) -> str:
        """Return the folder and its number of episodes: all fields fill a screen."""
        name = url_of(self.path) or short_path(self.path)
        counts = "unreadable"
        # A debugger shows an object whose folder is gone, too.
        with suppress(WaywordError):
            run = self.recorded
            counts = f"{len(run.index):,} episodes finished"
            if failed := {each.episode_id for each in run.failures()} - set(
                run.index.ids()
            ):
                counts += f", {len(failed):,} failed"
        return f"RunResult({name}: {counts})"

    def __post_init__(self) -> None:
        # A URL is absolute already.
        if not url_of(self.path):
            object.__setattr__(self, "path", self.path.absolute())
        if self.data is not None:
            object.__setattr__(self, "data", self.data.absolute())

    @classmethod
    def read(
        cls,
        path: Path | str,
        data: Path | str | None = None,
        trusted: Trusted = (),
    ) -> Self:
        """Open the result of an earlier run; ``data`` is the folder of published data, and
        ``trusted`` are files that the run names and that may be opened."""
        try:
            run = RunFolder.read(path)
        except TypeError:
            raise UsageError(
                f"read expects the path of a run folder, got {path!r:.80}"
            ) from None
        # Read from the folder: finished and failed episodes.
        outcome = Outcome(len(run.index), sum(1 for _ in run.failures()))
        folder = None if data is None else Path(data)
        files = trusted_files(trusted)
        return cls(run.path, outcome, len(run.index), data=folder, trusted=files)

    @cached_property
    def recorded(self) -> RecordedRun:
        """The run folder."""
        return RunFolder.read(self.path)

    @cached_property
    @python_call
    def dataset(self) -> Dataset:
        """The run's dataset, opened at first use."""
        try:
            return dataset_of(self.recorded, self.data, self.trusted)
        except WaywordError as error:
            if self.data is not None or "WAYWORD_DATA" not in str(error):
                raise
            # No method of a result takes a folder.
            path = short_path(self.path)
            raise UsageError(
                f"{error}; in Python: RunResult.read({path!r}, data=FOLDER)"
            ) from error

    @property
    @python_call
    def episodes(self) -> list[EpisodeRecord]:
        """The finished episodes in the order they ended, then the failed ones, without scores."""
        run = self.recorded
        tasks = self.dataset.tasks
        # An episode may have failed several times.
        failed = dict.fromkeys(each.episode_id for each in run.failures())
        records = [
            *run.records(),
            # A later success replaces a failure.
            *(run.record(name) for name in failed if name not in run.index),
        ]
        # One pass over the dataset for all records.
        matches = of_ids(tasks, {record.episode_id for record in records})
        return Episodes(
            self._describe(record, matches.get(record.episode_id)) for record in records
        )

    @python_call
    def failures(self) -> list[EpisodeRecord]:
        """Episodes without success, including failed ones; none that no metric judges."""
        return Episodes(each for each in self.episodes if self._is_failure(each))

    @python_call
    def table(
        self,
        metrics: Sequence[str] = (),
        *others: RunResult | Path | str,
        by: str = "",
        form: str = "rich",
        pool: bool = False,
    ) -> Text:
        """Table of metrics of this run and ``others``, as by ``wayword table``: ``metrics`` selects
        columns, ``by`` is ``scene`` or ``length`` for a row of each, ``form`` is ``rich``,
        ``json``, ``csv``, ``markdown`` or ``latex``, and ``pool`` makes one row of runs that differ
        only in their seeds."""
        keys = metric_names(metrics)
        written = reports.table(
            [self.path, *(_path_of(other, "table") for other in others)],
            form,
            keys,
            pool=pool,
            by=by,
            data=self.data,
            trusted=self.trusted,
        )
        return Text(written)

    @python_call
    def to_latex(
        self,
        preset: str = "",
        *others: RunResult | Path | str,
        metrics: Sequence[str] = (),
        published: str = "",
        labels: Sequence[str] = (),
    ) -> Text:
        """LaTeX table of this run and ``others``, as by ``wayword table --format latex``. A
        ``preset`` such as ``r2r`` gives the columns of a benchmark's papers, ``published`` such as
        ``navgpt/table-1`` adds the rows of a published table, and ``labels`` name the runs."""
        paths = [self.path, *(_path_of(other, "to_latex") for other in others)]
        keys = metric_names(metrics)
        theirs = None
        if published:
            from wayword.runs.reproduce import published_rows

            theirs = partial(published_rows, published)
        written = reports.table(
            paths,
            "latex",
            keys,
            preset=preset,
            published=theirs,
            labels=_names(labels),
        )
        return Text(written)

    @python_call
    def compare(
        self,
        other: RunResult | Path | str,
        metrics: Sequence[str] = (),
        form: str = "rich",
        cluster: str = "",
        labels: Sequence[str] = (),
    ) -> Text:
        """Compare with another run on the same episodes, as by ``wayword compare``. ``form`` is
        ``rich``, ``json`` (with every number), ``csv``, ``markdown`` or ``latex``. Raises
        ``UsageError`` if they have no episode in common."""
        paths = [self.path, _path_of(other, "compare")]
        report = differences.compare(
            paths,
            form,
            metric_names(metrics),
            cluster,
            self.data,
            _names(labels),
        )
        return Text(report.text)

    @python_call
    def view(self, limit: int = 200, browser: bool = True) -> Path:
        """Write the pages of the run as files, as by ``wayword view --write``, and open them in the
        browser. Returns the path of the first page; ``limit`` episodes have one of their own."""
        # The viewer is a package that this one does not import.
        write = registry.load("display", "pages")
        page: Path = write(
            self.path,
            limit=limit,
            data=self.data,
            trusted=self.trusted,
        ).resolve()
        if browser:
            webbrowser.open(page.as_uri())
        return page

    @python_call
    def plot(
        self,
        kind: str = "length",
        *others: RunResult | Path | str,
        **options: Any,
    ) -> Any:
        """Draw a figure for a paper, as by ``wayword plot``: ``length``, ``curve``, ``cost``,
        ``map``, ``causes`` or ``pairs``; ``others`` are runs to compare.

        ``options`` are ``metric``, ``labels``, ``episode``, ``width`` and ``cluster``. The figure
        is shown in a notebook, and has ``save(path)``, ``caption`` and matplotlib's ``figure``.
        Raises ``UsageError`` without matplotlib, and for options that do not fit.
        """
        paths = [self.path, *(_path_of(other, "plot") for other in others)]
        # By name, as for pages.
        draw = registry.load("display", "plots")
        return draw(paths, kind, data=self.data, trusted=self.trusted, **options)

    @python_call
    def intervals(self, metrics: Sequence[str] = ()) -> pandas.DataFrame:
        """Data frame with a row per metric: its mean, the ``low`` and ``high`` ends of its 95%
        interval (NaN where there is none), and the number of episodes that have it. Values are
        those of the scores: a rate is 0 to 1. Raises ``UsageError`` without pandas."""
        with needing("a data frame needs pandas", "pandas"):
            frames = import_module("pandas")
        (row,) = reports.rows_of([self.path])
        values = only({"": row.values}, metric_names(metrics), row.metrics)[""]
        rows = {}
        for key, value in values.items():
            rows[key] = {
                "mean": value.mean,
                "low": value.low,
                "high": value.high,
                "episodes": row.counts.get(key, row.n),
            }
        return frames.DataFrame.from_dict(rows, orient="index")

    @python_call
    def to_dataframe(self) -> pandas.DataFrame:
        """Data frame with a row per episode: run, agent, model (of the role ``main``), dataset,
        instruction, scene, length of the reference, success, the first cause of failure
        (:mod:`wayword.metrics.mistakes.causes`), and all scores. Raises ``UsageError`` without
        pandas."""
        with needing("a data frame needs pandas", "pandas"):
            frames = import_module("pandas")
        # A row has all that groups episodes, and all scores.
        identity = self.recorded.config.get("identity", {})
        rows = [
            {
                "run": self.path.name,
                "agent": identity.get("agent"),
                "model": identity.get("models", {}).get("main", ""),
                "dataset": identity.get("dataset"),
                "episode": record.episode_id,
                "instruction": record.instruction,
                "scene": record.scene,
                "gold_length": record.gold_length,
                "success": self._is_success(record),
                "ended": record.trajectory.ended,
                "cause": self._cause(record) if self._is_failure(record) else "",
                **record.scores,
            }
            for record in self.episodes
        ]
        return frames.DataFrame(rows)

    def _is_success(self, record: EpisodeRecord) -> bool | None:
        """True if an episode succeeded; None if no metric judges it, as with a robot. One that an
        error ended did not."""
        if record.trajectory.ended == "failed":
            return False
        success = record.scores.get(success_of(self.recorded.config))
        return None if success is None else is_solved(success)

    def _is_failure(self, record: EpisodeRecord) -> bool:
        """True for an episode without success, or one that an error ended."""
        return self._is_success(record) is False

    def _cause(self, record: EpisodeRecord) -> str:
        """Return the first cause of an episode's failure."""
        # Here, as it imports the worlds of all families.
        from wayword.metrics.mistakes.causes import find_causes

        # Causes are found in the record as it was written.
        trajectory = self.recorded.raw_record(record.episode_id).get("trajectory", {})
        trajectory = {"ended": record.trajectory.ended, **trajectory}
        task = of_ids(self.dataset.tasks, {record.episode_id}).get(record.episode_id)
        causes = find_causes(
            trajectory,
            record.scores,
            record.instruction,
            task,
            self.dataset,
        )
        return next(iter(causes), "")

    @python_call
    def diagnose(self, record: EpisodeRecord) -> Diagnosis:
        """Find out why an episode failed: its causes, and the step that lost it with the facts.

        ``result.diagnose(record).text`` is the sentence of the episode's page: the mistake, or how
        it was solved. ``mistake`` is None for an episode that did not fail."""
        from wayword.runs.diagnosis import diagnose, review

        if not isinstance(record, EpisodeRecord):
            raise UsageError(
                f"diagnose takes one of result.episodes, got {record!r:.80}"
            )
        task = of_ids(self.dataset.tasks, {record.episode_id}).get(record.episode_id)
        success = self._is_success(record)
        if success is not False:
            return review(
                record.trajectory,
                record.scores,
                success,
                self.dataset,
                task,
                compares=not self.recorded.by_expert,
            )
        limit = step_limit(self.recorded.config)
        return diagnose(
            record.trajectory,
            record.scores,
            self.dataset,
            task,
            limit=limit,
        )

    def _describe(self, record: EpisodeRecord, task: Task | None) -> EpisodeRecord:
        """The record with the instruction, scene and reference length from the dataset."""
        # The episode is not in the data of this machine.
        if task is None:
            return record
        length = lengths.reference_length(task, self.dataset)
        episode = task.episode
        return replace(
            record,
            instruction=episode.instruction,
            scene=episode.scene,
            gold_length=length,
        )

    def _repr_html_(self) -> str:
        """Show the result as a page in notebooks."""
        return registry.render_html(self)


def _path_of(other: RunResult | Path | str, method: str) -> Path:
    """Return the folder of a result, path or text. Raises ``UsageError`` for another
    value."""
    if isinstance(other, RunResult):
        return other.path
    if not isinstance(other, Path | str):
        raise UsageError(f"{method} expects a result or run folder, got {other!r:.80}")
    return Path(other)


def _names(labels: Sequence[str]) -> Sequence[str]:
    """Return the names of rows; one text is one name, as of a figure's lines."""
    return [labels] if isinstance(labels, str) else labels


def metric_names(metrics: Sequence[str]) -> list[str]:
    """Metric names from a list, or from text as on the command line: ``"sr,spl"``."""
    if isinstance(metrics, str):
        return comma_separated(metrics)
    # Notebooks pass all kinds of values.
    if not isinstance(metrics, Sequence) or not all(
        isinstance(each, str) for each in metrics
    ):
        raise UsageError(
            f'metrics must be a list of names such as ["sr", "spl"], got {metrics!r}'
        )
    return list(metrics)
