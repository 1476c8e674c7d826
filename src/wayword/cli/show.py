"""Progress bars and colored notices on stderr; stdout is only for results."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wayword.runs.active import OnProgress
    from wayword.runs.plan import Plan
    from wayword.runs.record import RecordedRun
    from wayword.viewer.app import Server

_WIDE = 140  # minimum terminal columns for a bar next to the numbers


@contextmanager
def progress(
    label: str,
    hidden: bool = False,
    slow: Timer | None = None,
) -> Iterator[OnProgress]:
    """Progress bar over episodes, with running means of metrics; not shown if ``hidden``.

    ``slow`` is a timer from :func:`notice_later`, which the first report of progress
    cancels. The yielded function is an ``OnProgress``.
    """
    if slow is None:
        slow = notice_later(f"{label}: reading the data …")
    with progress_rows(hidden, slow) as row:
        yield row(label)


@contextmanager
def progress_rows(
    hidden: bool = False,
    slow: Timer | None = None,
) -> Iterator[Callable[..., OnProgress]]:
    """One view of several progress bars, on stderr.

    The function ``row(label, name="")`` starts a bar and returns its ``OnProgress``; a
    bar of the same name is replaced. Bars are drawn at most every ``REDRAW`` seconds,
    and once at the end.
    """
    from rich import progress as columns
    from rich.console import Console
    from rich.table import Column
    from rich.text import Text

    from wayword.core.visible import visible

    # Rich's own text column would read a note's brackets as markup.
    class StatusNote(columns.ProgressColumn):
        def render(self, task: columns.Task) -> Text:
            """Return the note as a text that is cut, not wrapped."""
            return Text(task.fields["note"], no_wrap=True, overflow="ellipsis")

    # Standard output is only for results.
    console = Console(stderr=True)
    bar = columns.Progress(  # in a narrow terminal, the note is truncated, not the numbers
        columns.TextColumn("{task.description}"),
        *([columns.BarColumn()] if console.width >= _WIDE else []),
        columns.MofNCompleteColumn(table_column=Column(no_wrap=True)),
        columns.TimeElapsedColumn(table_column=Column(no_wrap=True)),
        columns.TextColumn("left"),
        columns.TimeRemainingColumn(table_column=Column(no_wrap=True)),
        StatusNote(),
        console=console,
        refresh_per_second=4,
    )
    rows: dict[str, columns.TaskID] = {}
    drawn: dict[str, Callable[[], None]] = {}

    def row(label: str, name: str = "") -> OnProgress:
        """Add a row, or restart it; returns the function that updates it."""
        label = visible(label)
        # A row of the same name is used again, for the next run of a ladder.
        if name not in rows:
            rows[name] = bar.add_task(label, total=None, note="")
        bar.reset(rows[name], description=label, total=None, note="")
        # Each row has its own means: rows may be different runs.
        means = RunningMeans()
        counts = (0, 0)
        earlier: int | None = None
        due = 0.0

        def draw() -> None:
            """Draw the row: done, total, means, and what this session did."""
            done, total = counts
            bar.start()  # not earlier, so that an error at the start shows no empty bar
            note = means.text()
            if earlier and not means.is_whole:
                # The means are not those of all finished episodes, as in the table. A session
                # without episodes has none; a narrow terminal cuts the end.
                session = f"{done - earlier:,} in this session"
                note = "  of ".join(filter(None, [note, session]))
            bar.update(rows[name], completed=done, total=total, note=note)

        def update(done: int, total: int, scores: Mapping[str, float]) -> None:
            """Take in the scores of an episode; rows are drawn a few times a second."""
            nonlocal counts, due, earlier
            counts = (done, total)
            if earlier is None:
                earlier = done  # finished before this session, which the means are of
            means.add(scores)
            # The last state of each row is drawn at the end, whatever the time.
            drawn[name] = draw
            # Oracles finish thousands of steps a second.
            if time.monotonic() < due:
                return
            due = time.monotonic() + REDRAW
            if slow is not None:
                slow.cancel()
            if not hidden:
                draw()

        return RowProgress(means, update)

    try:
        yield row
    finally:
        if slow is not None:
            slow.cancel()
        for draw in () if hidden else drawn.values():
            draw()
        bar.stop()


# Seconds between two updates of a bar: each takes as long as an oracle's step
REDRAW = 0.1
DELAY = 0.3  # seconds before a notice about waiting is printed


def notice_later(line: str) -> Timer:
    """Print a notice on stderr after ``DELAY``, unless the returned timer is cancelled."""
    timer = Timer(DELAY, notice, [line])
    # An unfired timer does not keep the program alive.
    timer.daemon = True
    timer.start()
    return timer


@contextmanager
def waiting(line: str) -> Iterator[None]:
    """Print a notice if the body of the ``with`` statement takes long."""
    slow = notice_later(line)
    try:
        yield
    finally:
        slow.cancel()


class RunningMeans:
    """Running means of the metrics shown in the progress bar.

    They are over the whole run if ``begin`` was called with it, else over this session.
    """

    SHOWN: Mapping[str, str] = {"sr": "SR", "tc": "TC", "rejection_rate": "rejected"}

    def __init__(self) -> None:
        self.is_whole = False
        self._labels = {**self.SHOWN}
        self._sums: dict[str, float] = {}
        self._counts: dict[str, int] = {}
        self._steps = 0
        self._retries = 0

    def begin(self, run: RecordedRun) -> None:
        """Start with the finished episodes of a run, and show its own metric of success."""
        from wayword.runs.config import metrics_of, success_of

        self.is_whole = True
        success = success_of(run.config)
        for metric in metrics_of(run.config):
            if metric.key == success and metric.kind == "rate":
                self._labels = {success: metric.label, **self._labels}
        for key in self._labels:
            finished = run.index.column(key)
            finished = finished[finished == finished]  # NaN: an episode without it
            if len(finished):
                self._sums[key] = float(finished.sum())
                self._counts[key] = len(finished)

    def add(self, scores: Mapping[str, float]) -> None:
        """Add the scores of an episode, or the counts of one that still runs."""
        # Reports within an episode have counts so far instead of scores.
        self._steps = int(scores.get("steps_so_far", self._steps))
        self._retries = int(scores.get("retries_so_far", self._retries))
        # A metric that a task lacks has no mean.
        for key in self._labels.keys() & scores.keys():
            self._sums[key] = self._sums.get(key, 0.0) + scores[key]
            self._counts[key] = self._counts.get(key, 0) + 1

    def text(self) -> str:
        """Return the means as text, then repeated requests and steps."""
        from wayword.core.visible import count

        # Rates in percent, without decimals: they change with every episode.
        parts = [
            f"{label} {100 * self._sums[key] / self._counts[key]:.0f}%"
            for key, label in self._labels.items()
            if key in self._sums
        ]
        if self._retries:
            parts.append(count(self._retries, "retry"))
        if self._steps:
            parts.append(f"{self._steps:,} steps")
        return "  ".join(parts)


@dataclass(frozen=True)
class RowProgress:
    """An ``OnProgress`` of a progress bar, whose means are of the whole run once it has begun."""

    means: RunningMeans
    update: OnProgress

    def begin(self, run: RecordedRun) -> None:
        """Start with the means of the run's finished episodes."""
        self.means.begin(run)

    def __call__(self, done: int, total: int, scores: Mapping[str, float]) -> None:
        self.update(done, total, scores)


def notice(*lines: str) -> None:
    """Print notices on stderr."""
    for line in lines:
        echo(line, color="yellow", err=True)


def echo(
    text: object = "",
    nl: bool = True,
    err: bool = False,
    color: str = "",
) -> None:
    """Print a text without secrets, and without characters that control a terminal.

    Run folders, models and data may contain any.
    """
    import typer

    from wayword.core.secrets import redacted
    from wayword.core.visible import visible

    typer.secho(visible(redacted(str(text))), fg=color or None, nl=nl, err=err)


TRANSFER_DELAY = 2.0  # seconds before a download shows its progress
TRANSFER_STEP = 0.25  # seconds between two updates on a terminal
TRANSFER_LOG = 30.0  # seconds between two lines on a download where no terminal is


@contextmanager
def transfer() -> Iterator[Callable[[str, int, int], None]]:
    """Progress of downloads on stderr, if they take longer than ``TRANSFER_DELAY``.

    ``report(name, bytes, total)`` rewrites one line on a terminal, else adds one now and then.
    """
    from wayword.core.visible import visible

    is_terminal = sys.stderr.isatty()
    started = dict[str, float]()
    due = 0.0
    width = 0

    def report(name: str, received: int, total: int) -> None:
        """Show a download if it takes long, and the last line is old enough."""
        nonlocal due, width
        now = time.monotonic()
        elapsed = now - started.setdefault(name, now)
        if elapsed < TRANSFER_DELAY or now < due:
            return
        amount = f"{received / 1e6:,.1f}"
        if total:
            amount += f" of {total / 1e6:,.1f}"
        line = visible(f"{name}: {amount} MB, {elapsed:.0f} s")
        if is_terminal:
            due = now + TRANSFER_STEP
            # Spaces erase the rest of a longer line.
            sys.stderr.write(f"\r{line:<{width}}")
            sys.stderr.flush()
            width = len(line)
        else:
            due = now + TRANSFER_LOG
            sys.stderr.write(f"{line}\n")

    try:
        yield report
    finally:
        if width:
            sys.stderr.write("\n")


def pages(plan: Plan, port: int = 0) -> Server:
    """Return a server of the viewer for the folder of a plan's run and those next to it.

    Creates the folder if it is missing.
    """
    from wayword.viewer.app import Server
    from wayword.viewer.content import Content
    from wayword.viewer.library import Library

    # The neighbors of a run are shown too, for comparison.
    folder = plan.out.parent if plan.out else Path("runs")
    folder.mkdir(parents=True, exist_ok=True)
    return Server(Content(Library([folder]), plan.data), port)


def open_page(address: str) -> None:
    """Open a page in the browser, if a person is at a desktop.

    A browser of the terminal would take it over.
    """
    has_desktop = sys.platform in ("darwin", "win32") or any(
        name in os.environ for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    if has_desktop and sys.stdout.isatty():
        import webbrowser

        webbrowser.open(address)


def serve(server: Server, address: str, open_: bool) -> None:
    """Print the address, open the browser if requested, and serve until Ctrl-C."""
    import webbrowser

    echo(f"{address}  (Ctrl-C to stop)")
    if open_:
        webbrowser.open(address)
    server.serve()
