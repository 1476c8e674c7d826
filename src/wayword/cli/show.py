"""What a person sees: progress bars and coloured notices, on stderr, so that stdout stays data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import ProgressColumn

    from wayword.runs.active import OnProgress


@contextmanager
def progress(label: str, hidden: bool = False, slow: Timer | None = None) -> Iterator[OnProgress]:
    """A bar over the episodes, with the running mean of the main metric; ``hidden`` shows none.

    ``slow`` is a wait that :func:`saying` has begun to explain; it ends with the first episode.
    """
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    means = RunningMeans()
    bar = Progress(*_columns(console.width), console=console, refresh_per_second=4)
    row = bar.add_task(label, total=None, note="")

    def tell(done: int, total: int, scores: Mapping[str, float]) -> None:
        wait.cancel()
        if hidden:
            return
        bar.start()  # not before: a mistyped name should not flash an empty bar
        means.add(scores)
        bar.update(row, completed=done, total=total, note=means.text())

    wait = slow or saying(f"{label}: reading the data …")
    try:
        yield tell
    finally:
        wait.cancel()
        bar.stop()


_WIDE = 140
"""Columns of a terminal from which there is room for a bar beside the numbers."""


def _columns(width: int) -> list[ProgressColumn]:
    """What a line of progress has. Where it is narrow the note is cut, never the numbers."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        ProgressColumn,
        Task,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.table import Column
    from rich.text import Text

    class StatusNote(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(task.fields["note"], no_wrap=True, overflow="ellipsis")

    return [
        TextColumn("{task.description}"),
        *([BarColumn()] if width >= _WIDE else []),
        MofNCompleteColumn(table_column=Column(no_wrap=True)),
        TimeElapsedColumn(table_column=Column(no_wrap=True)),
        TextColumn("left"),
        TimeRemainingColumn(table_column=Column(no_wrap=True)),
        StatusNote(),
    ]


SILENCE = 0.3
"""Seconds after which a wait is explained."""


def saying(line: str) -> Timer:
    """Explain a wait on stderr, unless what is returned is cancelled before."""
    timer = Timer(SILENCE, notice, [line])
    timer.daemon = True
    timer.start()
    return timer


@contextmanager
def waiting(line: str) -> Iterator[None]:
    """Explain a wait that takes long."""
    slow = saying(line)
    try:
        yield
    finally:
        slow.cancel()


class RunningMeans:
    """Running means of the few metrics that fit on a line."""

    SHOWN = (("sr", "SR"), ("tc", "TC"), ("rejection_rate", "rejected"))

    def __init__(self) -> None:
        self._sums: dict[str, float] = {}
        self._count = self._steps = self._retries = 0

    def add(self, scores: Mapping[str, float]) -> None:
        self._steps = int(scores.get("steps_so_far", self._steps))
        self._retries = int(scores.get("retries_so_far", self._retries))
        if scores and "steps_so_far" not in scores:
            self._count += 1
            for key, _ in self.SHOWN:
                if key in scores:
                    self._sums[key] = self._sums.get(key, 0.0) + scores[key]

    def text(self) -> str:
        parts = [
            f"{label} {100 * self._sums[key] / self._count:.0f}%"
            for key, label in self.SHOWN
            if key in self._sums
        ]
        if self._retries:
            parts.append("1 retry" if self._retries == 1 else f"{self._retries:,} retries")
        if self._steps:
            parts.append(f"{self._steps:,} steps")
        return "  ".join(parts)


def notice(line: str) -> None:
    """A line a person should see, apart from the data on stdout."""
    import typer

    from wayword.core.secrets import redacted

    typer.secho(redacted(line), fg=typer.colors.YELLOW, err=True)
