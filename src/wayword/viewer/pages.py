"""A run as files that need no server: a folder of pages, and notebook frames.

write(Path("runs/first"))                       # runs/first/pages/index.html
result                                          # the last line of a cell: the run's page
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wayword.core.dataset import Dataset, Task
from wayword.core.episode import JsonObject
from wayword.core.errors import (
    RecordingError,
    UsageError,
    WaywordError,
    reason_of,
    suggest,
)
from wayword.core.files import text_checksum
from wayword.core.secrets import redacted
from wayword.core.trajectory import Trajectory
from wayword.runs.codec import from_json, to_json
from wayword.runs.record import EpisodeRecord, RunFolder
from wayword.runs.results import RunResult
from wayword.viewer import maps
from wayword.viewer.content import causes_by_episode
from wayword.viewer.data import Sources, open_sources
from wayword.viewer.document import Document
from wayword.viewer.episode import Links, episode_page
from wayword.viewer.index import Overview, index_page
from wayword.viewer.library import Rows
from wayword.viewer.markup import Html

_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,79}")
_HASHED = re.compile(r".*-[0-9a-f]{12}")
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)")


# Ids up to which a similar one is looked for: more would take seconds
_SUGGESTED = 20_000


def file_name(episode_id: str) -> str:
    """Return a file name for an id, safe on every file system and unique.

    Ids of lower-case letters, digits, ``_`` and ``-`` are unchanged; others keep these characters,
    and a checksum makes them unique.

        >>> file_name("5593_0"), file_name("../../etc/passwd")
        ('5593_0.html', 'etc-passwd-3754d6cb3a38.html')
    """
    # An id that looks like a name with a checksum could be taken for another id's; names of
    # devices are no files on Windows.
    reserved = _HASHED.fullmatch(episode_id) or _DEVICES.fullmatch(episode_id)
    if _PLAIN.fullmatch(episode_id) and not reserved:
        return f"{episode_id}.html"
    # Names that differ in case alone are one file on some systems.
    digest = text_checksum(episode_id, 12)
    stem = re.sub(r"[^a-z0-9_]+", "-", episode_id.lower()).strip("-")[:60]
    return f"{stem or 'episode'}-{digest}.html"


# A folder of pages.

_PATIENCE = 1.0
"""Seconds of looking for what an expert would have done, in a page that no server stands behind."""

# Episodes with a page of their own; the others are only rows of the table
LIMIT = 200
_MARK = ".wayword-pages"

OnPage = Callable[[int, int], None]
"""Called after every page: how many are written, of how many."""


@dataclass(frozen=True)
class WrittenPages:
    """Result of writing the pages of a run.

    ``index`` is the first page; ``pages`` of ``of`` episodes have one now, ``new`` of
    them written this time. ``notice`` states what the pages lack, and why.
    """

    index: Path
    new: int
    pages: int
    of: int
    notice: str = ""


def write(run: Path, out: Path | None = None, **options: Any) -> Path:
    """Write the pages of a run and return the path of ``index.html``. See ``write_pages``."""
    return write_pages(run, out, **options).index


def write_pages(
    run: Path,
    out: Path | None = None,
    *,
    limit: int = LIMIT,
    episodes: Sequence[str] = (),
    data: Path | None = None,
    trusted: Sequence[Path] = (),
    on_page: OnPage | None = None,
) -> WrittenPages:
    """Write ``index.html`` and one page per episode to ``out``, by default ``run/pages``.

    The first ``limit`` episodes of the table (failed ones, then the finished in order) get a page;
    with ``episodes``, those get one instead, and earlier pages stay. The run may still be in
    progress. ``data`` is the data folder, by default ``$WAYWORD_DATA``; without it the pages lack
    instructions, gold paths, and maps beyond the places seen. ``trusted`` are files that the
    caller trusts: a file named only by the run folder is never opened.

    Raises ``RecordingError`` for a folder that is not a run or cannot be written, ``UsageError``
    for an unknown episode or an ``out`` with other content.
    """
    rows = Rows(RunFolder.read(run)).refresh()
    config = rows.run.config
    ids = rows.names()
    if limit < 0:
        raise UsageError(f"--limit must be at least 0, got {limit}")
    for name in episodes:
        if name not in ids:
            near = "see index.html"
            if len(ids) < _SUGGESTED:
                near = suggest(name, ids)
            if len(near) > 300:  # a message stays a message
                near = f"{near[:300]} …"
            raise UsageError(f"this run has no episode {name!r}; {near}")
    chosen = ids[:limit]
    if episodes:
        chosen = list(dict.fromkeys(episodes))
    folder = out
    if folder is None:
        folder = run / "pages"
    try:
        sources = open_sources(rows.run, ids, data, trusted)
        _claim(folder, config, sources.notice)
        paged = _write(rows, chosen, folder, sources, on_page)
    except OSError as error:
        problem = reason_of(error)
        raise RecordingError(
            f"{folder}: {problem}; give another folder with --out"
        ) from error
    notice = sources.notice
    if sources.problems:
        notice = sources.problems[0]
    return WrittenPages(folder / "index.html", len(chosen), paged, len(ids), notice)


def _write(
    rows: Rows,
    chosen: Sequence[str],
    folder: Path,
    sources: Sources,
    on_page: OnPage | None,
) -> int:
    """Write the pages of the ``chosen`` episodes and the index; return how many have a page.

    Pages of earlier calls stay: the index and the pages before and after them link to
    them. Raises ``OSError`` if a file cannot be written.
    """
    path = rows.run.path
    ids = rows.names()
    name = path.resolve().name
    files = {each: file_name(each) for each in ids}
    written = set(chosen)

    def has_page(episode: str) -> bool:
        """True if the episode has a page afterwards."""
        return episode in written or (folder / "episodes" / files[episode]).is_file()

    chain = list(filter(has_page, ids))
    # Without a page before the first and after the last one
    around = ["", *(files[each] for each in chain), ""]
    links = {}
    for at, each in enumerate(chain):
        links[each] = Links(before=around[at], after=around[at + 2])
    if on_page is not None:
        on_page(0, len(chosen))
    for done, each in enumerate(chosen, 1):
        record = rows.run.record(each)
        document = Document.of(record, sources).json(_PATIENCE)
        text = episode_page(document, rows.metrics, name, links[each])
        _put(folder / "episodes" / files[each], text)
        if on_page is not None:
            on_page(done, len(chosen))
    overview = Overview(
        name,
        rows,
        rows.row(),
        rows.heads(),
        sources,
        pages={each: f"episodes/{files[each]}" for each in chain},
        command=f"wayword view {path} --write",
        causes=causes_by_episode(rows, sources),
    )
    _put(folder / "index.html", index_page(overview))
    return len(chain)


# Second line of the mark of pages that lack nothing
_FULL = "full"


def _claim(folder: Path, config: JsonObject, lack: str) -> None:
    """Mark the folder as this run's pages, and create it if needed. ``lack`` is what they lack.

    Raises ``UsageError`` for a folder with other files, which would mix with the pages, with pages
    of another run, or with pages that lack nothing if new ones would.
    """
    text = json.dumps(config["identity"], sort_keys=True, default=str)
    digest = hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()
    mark = folder / _MARK
    found = ""
    if mark.is_file():
        found = mark.read_text(encoding="utf-8")
    if mark.is_file() and found.split()[:1] != [digest]:
        raise UsageError(
            f"{folder}: has pages of another run; give a new folder with --out"
        )
    if lack and _FULL in found.split():
        raise UsageError(
            f"{folder}: has pages with instructions and maps, which are not replaced by poorer "
            f"ones. {lack}. Or give a new folder with --out"
        )
    if folder.is_dir() and not mark.is_file():
        # A command that was killed before it wrote the mark leaves only these.
        for path in folder.iterdir():
            if path.name == f".{_MARK}.new":
                continue
            if path.name == "episodes" and path.is_dir() and not any(path.iterdir()):
                continue
            raise UsageError(
                f"{folder}: has other files; give an empty or new folder with --out"
            )
    folder.mkdir(parents=True, exist_ok=True)
    _put(mark, f"{digest}\n" if lack else f"{digest}\n{_FULL}\n")
    (folder / "episodes").mkdir(exist_ok=True)


def _put(path: Path, text: str) -> None:
    """Write a page with secrets redacted, atomically: a browser may be reading the file."""
    new = path.with_name(f".{path.name}.new")
    new.write_text(redacted(text), encoding="utf-8", newline="\n")
    os.replace(new, path)


# Frames in a notebook. A frame keeps the page's style and script to itself: it has no origin, so it
# can reach neither the notebook nor the network, and every text in it is escaped as on any page.

MOST = 2000
"""Episodes of a run that are listed in a frame; of more, the figures alone are shown."""


def framed(shown: object) -> str:
    """Return the page of a :class:`RunResult`, an :class:`EpisodeRecord` or a
    :class:`Trajectory` as a self-contained element.

    A line with the reason if it cannot be shown, and the ``repr`` of any other object.
    """
    if isinstance(shown, Trajectory):
        shown = EpisodeRecord(shown.episode_id, {}, shown)
    try:
        if isinstance(shown, RunResult):
            rows = Rows(RunFolder.read(shown.path)).refresh()
            title = f"run {shown.path.name}"
            overview = Overview(
                shown.path.name,
                rows,
                rows.row(),
                rows.heads()[:MOST],
                Sources(success=rows.success),
                command=f"wayword view {shown.path}",
            )
            text = index_page(overview)
        elif isinstance(shown, EpisodeRecord):
            title = f"episode {shown.episode_id}"
            document = Document.of(shown, Sources()).json()
            text = episode_page(document, (), "", Links(up=""))
        else:
            return Html("<pre>{}</pre>").format(repr(shown))
    except WaywordError as error:
        return Html("<p>{}</p>").format(str(error))
    # Recorded text is foreign: without allow-same-origin, scripts of the frame
    # cannot read the page around it.
    frame = '<iframe srcdoc="{}" sandbox="allow-scripts" title="{}" width="100%" height="640" '
    return Html(frame + 'frameborder="0" loading="lazy"></iframe>').format(
        str(text), title
    )


def check_map(dataset: Dataset, task: Task, trajectory: Trajectory) -> None:
    """Draw the map of a user's family from the record of an episode, as its page would.

    Raises what the family's function raises, and ``CodeError`` if it returns no map.
    """
    recorded = from_json(to_json(trajectory))
    sources = Sources(dataset, {task.episode.id: task})
    maps.figure(maps.checked_map(dataset.family.map, recorded, sources))


displays = {"notebook": framed, "pages": write, "map": check_map}
