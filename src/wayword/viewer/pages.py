"""From a run folder to a folder of pages: files that need no server, one an episode."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wayword.core.errors import RecordingError, UsageError, suggest
from wayword.core.secrets import redacted
from wayword.runs.record import RunFolder
from wayword.viewer.content import found_causes
from wayword.viewer.data import open_sources
from wayword.viewer.episode import Links, episode_page
from wayword.viewer.index import Overview, index_page
from wayword.viewer.library import Rows

# File names for episodes, whose ids may hold anything.
#
# >>> file_name("5593_0")
# '5593_0.html'
# >>> file_name("../../etc/passwd")
# 'etc-passwd-3754d6cb3a38.html'

_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,79}")
_HASHED = re.compile(r".*-[0-9a-f]{12}")
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)")


def file_name(episode_id: str) -> str:
    """A name that is safe on every file system, one for each id.

    Lower-case ids of letters, digits, ``_`` and ``-`` are names as they are; others keep what they
    have of these, and a checksum tells them apart.
    """
    if (
        _PLAIN.fullmatch(episode_id)
        and not _HASHED.fullmatch(episode_id)
        and not _DEVICES.fullmatch(episode_id)
    ):
        return f"{episode_id}.html"
    digest = hashlib.sha256(episode_id.encode(errors="surrogatepass")).hexdigest()[:12]
    kept = re.sub(r"[^a-z0-9_]+", "-", episode_id.lower()).strip("-")[:60]
    return f"{kept}-{digest}.html" if kept else f"episode-{digest}.html"


LIMIT = 200
_MARK = ".wayword-pages"

OnPage = Callable[[int, int], None]
"""Told after every page: how many are written, of how many."""


@dataclass(frozen=True, slots=True)
class WrittenPages:
    """``index`` is the first page; ``pages`` of ``of`` episodes have one now, ``new`` of them
    written this time. ``notice`` says what the pages lack, and why."""

    index: Path
    new: int
    pages: int
    of: int
    notice: str = ""


def write_pages(
    run: Path,
    out: Path | None = None,
    *,
    limit: int = LIMIT,
    episodes: Sequence[str] = (),
    data: Path | None = None,
    trusted: Path | None = None,
    on_page: OnPage | None = None,
) -> WrittenPages:
    """Write ``index.html`` and a page an episode to ``out``, which is ``run/pages`` by default.

    The first ``limit`` episodes of the table (failed ones, then the finished in order) get a page;
    with ``episodes`` those do instead, and earlier pages stay. The run may still be going on.
    ``data`` is the data folder, else ``$WAYWORD_DATA``; without the data the pages lack what only
    the dataset knows: instructions, gold paths, maps beyond the places that were seen. ``trusted``
    is a dataset's file that the caller trusts: a file that only the run folder names is never run.

    Raises ``RecordingError`` for a folder that is no run or cannot be written, ``UsageError`` for
    an episode that the run does not have and for an ``out`` that holds something else.
    """
    rows = Rows(RunFolder.read(run)).refresh()
    wanted = _wanted(rows.names(), limit, episodes)
    folder = run / "pages" if out is None else out
    try:
        _claim(folder, rows.run.config)
        return _write(rows, wanted, folder, data, trusted, on_page)
    except OSError as error:
        problem = (error.strerror or str(error)).lower()
        raise RecordingError(f"{folder}: {problem}; give another folder with --out") from error


def _write(
    rows: Rows,
    wanted: Sequence[str],
    folder: Path,
    data: Path | None,
    trusted: Path | None,
    on_page: OnPage | None,
) -> WrittenPages:
    config, path, ids = rows.run.config, rows.run.path, rows.names()
    sources, known = open_sources(config, ids, data, trusted), rows.metrics
    name = path.resolve().name
    names = {each: file_name(each) for each in ids}
    there = {each for each in ids if (folder / "episodes" / names[each]).is_file()}
    made = set(wanted)
    chain = [each for each in ids if each in there or each in made]
    links = _links([names[each] for each in chain])
    for done, episode in enumerate(wanted, 1):
        file = names[episode]
        text = episode_page(rows.run.record(episode), known, sources, name, links[file])
        _put(folder / "episodes" / file, text)
        if on_page is not None:
            on_page(done, len(wanted))
    overview = Overview(
        name, rows, rows.row(), rows.heads(), sources,
        {each: f"episodes/{names[each]}" for each in chain}, f"wayword view {path} --write",
        causes=found_causes(rows, sources),
    )  # fmt: skip
    index = folder / "index.html"
    _put(index, index_page(overview))
    return WrittenPages(index, len(wanted), len(chain), len(ids), sources.notice)


def _wanted(ids: Sequence[str], limit: int, episodes: Sequence[str]) -> Sequence[str]:
    if limit < 0:
        raise UsageError(f"--limit must be at least 0, not {limit}")
    for name in episodes:
        if name not in ids:
            near = suggest(name, list(ids)) if len(ids) < 20_000 else "see index.html"
            near = near if len(near) <= 300 else f"{near[:300]} …"
            raise UsageError(f"this run has no episode {name!r}; {near}")
    return list(dict.fromkeys(episodes)) if episodes else ids[:limit]


def _links(files: Sequence[str]) -> dict[str, Links]:
    """Each page's neighbours."""
    around = ["", *files, ""]
    return {file: Links(around[at], around[at + 2]) for at, file in enumerate(files)}


def _claim(folder: Path, config: Mapping[str, Any]) -> None:
    """Mark the folder as this run's pages; refuse a folder that holds other files."""
    text = json.dumps(config["identity"], sort_keys=True, default=str)
    digest = hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()
    mark = folder / _MARK
    if not mark.is_file():
        if folder.is_dir() and not _begun(folder):
            raise UsageError(f"{folder}: holds other files; give an empty or new folder with --out")
    elif mark.read_text(encoding="utf-8").strip() != digest:
        raise UsageError(f"{folder}: holds the pages of another run; give a new folder with --out")
    folder.mkdir(parents=True, exist_ok=True)
    _put(mark, digest + "\n")
    (folder / "episodes").mkdir(exist_ok=True)


def _begun(folder: Path) -> bool:
    """Whether it holds no more than a start that was killed before its mark leaves behind."""
    others = [path for path in folder.iterdir() if path.name != f".{_MARK}.new"]
    return all(p.name == "episodes" and p.is_dir() and not any(p.iterdir()) for p in others)


def _put(path: Path, text: str) -> None:
    """Write atomically: a browser may be reading the file."""
    beside = path.with_name(f".{path.name}.new")
    beside.write_text(redacted(text), encoding="utf-8", newline="\n")
    os.replace(beside, path)


def write(run: Path, out: Path | None = None, **options: Any) -> Path:
    """Write the pages of a run, and give the path of ``index.html``. See ``write_pages``."""
    return write_pages(run, out, **options).index
