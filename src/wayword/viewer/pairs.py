"""Runs that are compared, made when they are asked for and kept while nothing changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wayword.core.errors import WaywordError
from wayword.runs import reports
from wayword.viewer.compare import LISTED, Sides, compare_page, walks_page
from wayword.viewer.data import Sources
from wayword.viewer.library import Kept, Library, Rows, slug

FORMS = ("markdown", "latex")
"""How the table to copy is written."""
_MOST = 8
"""Runs beside the first one."""
_TOLD = 400
"""Episodes whose instructions are told."""

Lookup = Callable[[Rows, Sequence[str]], Sources]


class Pairs:
    """Pages of a library's runs side by side. ``tasks`` looks up a run's tasks by their ids,
    ``soon`` those that cost no time."""

    def __init__(self, library: Library, tasks: Lookup, soon: Lookup) -> None:
        self._library, self._tasks, self._soon = library, tasks, soon
        self._compared: Kept[reports.Compared] = Kept(12)
        self._tables: Kept[dict[str, str]] = Kept(12)

    def page(self, names: Sequence[str]) -> str:
        """The first run against each of the others."""
        pairs, told = self._pairs(names)
        rows = [self._library.rows(name) for name in names[: _MOST + 1]]
        return compare_page(pairs, self._soon(rows[0], told), self._table(rows))

    def texts(self, names: Sequence[str]) -> dict[str, str]:
        """The instructions of the episodes that the page lists as gained or lost."""
        if len(names) < 2:
            return {}
        told = self._pairs(names)[1]
        sources = self._tasks(self._library.rows(names[0]), told)
        return {each: sources.instruction(each) for each in told}

    def _pairs(self, names: Sequence[str]) -> tuple[list[Sides], list[str]]:
        """The first run against each of the others, and the episodes gained or lost."""
        first, *others = names[: _MOST + 1]
        pairs = [self._sides(first, other) for other in others]
        told = dict.fromkeys(k for s in pairs for k in (*s.gained[:LISTED], *s.lost[:LISTED]))
        return pairs, [*told][:_TOLD]

    def walks(self, names: Sequence[str], episode: str) -> str:
        """One episode in two runs."""
        several = [self._library.rows(name) for name in names]
        walks = [rows.record(episode).trajectory for rows in several]
        called = [self._library.name(name) for name in names]
        sources = self._tasks(several[0], [episode])
        return walks_page(called, [slug(each) for each in called], walks, sources)

    def _sides(self, first: str, second: str) -> Sides:
        one, two = self._library.rows(first), self._library.rows(second)
        key = (one.run.path, one.version, two.run.path, two.version)
        found = self._compared.get(key, lambda: reports.compared(one.run.path, two.run.path))
        before, after = one.outcomes(), two.outcomes()
        shared = {name: (before[name], after[name]) for name in before if name in after}
        names = self._library.name(first), self._library.name(second)
        columns = one.tally().columns, two.tally().columns
        slugs = slug(names[0]), slug(names[1])
        return Sides(names, slugs, found.differ, found.found, shared, columns)

    def _table(self, runs: Sequence[Rows]) -> dict[str, str]:
        """All of the runs in one table, by the way it is written."""
        key, paths = (
            tuple((rows.run.path, rows.version) for rows in runs),
            [r.run.path for r in runs],
        )
        try:
            return self._tables.get(key, lambda: reports.tables_of(paths, FORMS))
        except WaywordError:
            return {}  # a folder without a table can still be looked at
