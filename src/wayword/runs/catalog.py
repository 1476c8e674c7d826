"""Lists and checks of data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any

from wayword.core import registry
from wayword.core.dataset import Dataset, SolvableWalks, Task
from wayword.core.episode import JsonObject
from wayword.core.errors import DataError, UsageError, WaywordError, suggest
from wayword.core.files import (
    FETCH,
    NEEDS_DATA,
    SOURCES,
    collecting_bad_records,
    text_checksum,
)
from wayword.core.visible import count
from wayword.runs.config import Checksums
from wayword.runs.identity import omitted, shown_split
from wayword.runs.machine import data_folder
from wayword.runs.opening import EMPTY, open_dataset
from wayword.runs.plan import Plan
from wayword.testing.contracts import check_dataset
from wayword.worlds.indoor.graph import ViewpointGraph


def data_listing(
    folder: Path | None,
    only: Sequence[str] = (),
    waiting: Callable[[str], AbstractContextManager[Any]] = nullcontext,
) -> Iterator[str]:
    """Yield a line for each split of the datasets, with the number of episodes or what is missing.

    ``only`` are names of datasets; all by default. Each line is yielded once it is known: large
    files take seconds, and ``waiting`` surrounds the reading of a split, with its notice. Without a
    data folder, published datasets are named in one line, with what to type to use one.
    """
    found = data_folder(folder)
    names = registry.names("dataset")
    for name in only:
        if name not in names:
            raise UsageError(f"no dataset is called {name!r}; {suggest(name, names)}")
    yield f"data folder: {found or 'none; set WAYWORD_DATA or add --data'}"
    absent = []
    for name in only or names:
        for split in registry.load("dataset", name).splits:
            on = f"{name}:{split}"
            try:
                with waiting(f"reading {on} …"):
                    dataset = open_dataset(Plan("list", on, data=folder))
                    size = f"{len(dataset.tasks):,} episodes"
            except WaywordError as error:
                problem = str(error).removesuffix(f"; {SOURCES}")
                # The other splits are lines of this list.
                problem = problem.partition(f"; {FETCH.format(name)}")[0]
                size = f"-- {problem.partition(': give --data')[0]}"
                # Missing for one reason, so one line below names them all.
                if NEEDS_DATA in size and found is None:
                    absent.append(name)
                    continue
            yield f"  {on:<31} {size}"
    if absent:
        yield f"Published datasets, not here: {', '.join(dict.fromkeys(absent))}"
        yield (
            "To use one, such as r2r, choose a folder and download it from its publisher:"
        )
        yield "  export WAYWORD_DATA=/path/to/data"
        yield "  wayword data fetch r2r"
        yield (
            "`wayword data list --published` shows sizes, licenses, terms and addresses."
        )
        return
    yield (
        "`wayword data fetch NAME` downloads what is missing; docs/datasets.md has the source of "
        "each file and its place in the data folder."
    )


def present(folder: Path | None) -> dict[str, str]:
    """Return the summaries of the datasets whose default split is on this machine, by name.

    No record is read: it takes milliseconds a dataset.
    """
    found = {}
    for name, about in registry.summaries("dataset").items():
        with suppress(WaywordError):
            dataset = open_dataset(Plan("list", name, data=folder))
            _ = dataset.files  # raises an error where one is missing
            found[name] = about
    return found


def other_splits(on: str, folder: Path | None) -> list[str]:
    """Return the other splits of a dataset that are on this machine: ``["r2r:val_seen"]`` for
    ``r2r:val_unseen``. No record is read."""
    name = on.partition(":")[0]
    found = []
    for split in registry.load("dataset", name).splits:
        other = f"{name}:{split}"
        if other == on:
            continue
        with suppress(WaywordError):
            _ = open_dataset(Plan("list", other, data=folder)).files
            found.append(other)
    return found


def data_check(
    on: str,
    folder: Path | None,
    settings: JsonObject,
) -> tuple[str, bool]:
    """Check every record of a split; ``settings`` are those of ``--set``, as for a run.

    Returns the report, which lists all bad records, one per line, and True if there are none.
    Raises ``UsageError`` for a split that breaks the contract of datasets."""
    if other := [key for key in settings if key not in ("dataset", "perceiver")]:
        raise UsageError(f"--set {other[0]}: write dataset.KEY=VALUE or perceiver=NAME")
    plan = Plan("check", on, settings=settings, data=folder)
    with collecting_bad_records() as bad:
        try:
            dataset = open_dataset(plan)
            on = shown_split(plan, dataset)
            try:
                check_dataset(dataset, max_tasks=len(dataset.tasks))
            except DataError:
                # The first bad record ends the check of tasks that are read one by one.
                bad += _bad_tasks(dataset.tasks)
                raise
        except AssertionError as error:
            # The check may fail only because of bad records, which are listed below.
            if not bad:
                raise UsageError(f"{on}: {error}") from None
        except DataError as error:
            if error.where:
                bad.append(str(error))
            # A file is empty if all of its records are bad, and those are listed.
            elif not (bad and EMPTY in str(error)):
                return "\n".join([*bad, str(error), f"{on}: cannot be played"]), False
    if bad:
        # One record may be read, and reported, several times.
        lines = list(dict.fromkeys(bad))
        lines.append(f"{on}: {count(len(lines), 'bad record')}")
        return "\n".join(lines), False
    rows = _checksum_lines(dataset.files)
    rows += _one_way_notes(dataset)
    causes = omitted(dataset)
    rows += [f"  left out: {count:,} {cause}" for cause, count in causes.items()]
    valid = "all other records are valid" if causes else "all records are valid"
    # Last, because a split of many files has more lines than a screen.
    rows.append(f"{on}: {len(dataset.tasks):,} episodes, {valid}")
    return "\n".join(rows), True


def _bad_tasks(tasks: Sequence[Task]) -> Iterator[str]:
    """Yield the errors of the tasks that cannot be read."""
    for number in range(len(tasks)):
        try:
            tasks[number]
        except DataError as error:
            yield str(error)


def _one_way_notes(dataset: Dataset) -> Iterator[str]:
    """Yield a note for each graph of viewpoints with edges that lead one way, which a forgotten
    direction explains more often than a door."""
    graph_of = getattr(dataset, "graph", None)
    if not isinstance(dataset, SolvableWalks) or graph_of is None:
        return
    for scene in sorted({task.episode.scene for task in dataset.tasks}):
        graph = graph_of(scene)
        if not isinstance(graph, ViewpointGraph):
            continue
        one_way = graph.one_way()
        if one_way:
            verb = "has" if len(one_way) == 1 else "have"
            edges = f"{count(len(one_way), 'edge')} {verb}"
            first, second = one_way[0]
            example = f"such as {first!r} to {second!r}"
            yield f"  note: {scene}: {edges} no edge back, {example}; is that intended?"


def _checksum_lines(files: Mapping[str, Path]) -> list[str]:
    """Return a line per folder: the SHA-256 of its only file, or of the output of ``sha256sum`` for
    its files by name. A split may have hundreds."""
    folders: dict[Path, list[tuple[str, str]]] = {}
    for name, digest in Checksums().each(files).items():
        path = files[name]
        folders.setdefault(path.parent, []).append((path.name, digest))
    rows = []
    for folder, entries in folders.items():
        name, digest = entries[0]
        shown = str(folder / name)
        if len(entries) > 1:
            listed = [f"{digest}  {name}\n" for name, digest in sorted(entries)]
            digest = text_checksum("".join(listed))
            shown = f"{folder} ({len(entries)} files)"
        rows.append(f"  {digest}  {shown}")
    return rows
