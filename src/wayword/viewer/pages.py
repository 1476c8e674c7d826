"""From a run folder to a folder of pages."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from wayword.core.errors import RecordingError, UsageError, suggest
from wayword.core.metric import Metric
from wayword.core.secrets import redacted
from wayword.metrics import accounting, scoring, state_accuracy
from wayword.runs import reports
from wayword.runs.config import metrics_of
from wayword.runs.folder import RecordedRun, RunFolder
from wayword.viewer.data import Head, heads, open_sources, records
from wayword.viewer.episode import Links, episode_page
from wayword.viewer.index import Overview, index_page

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


# The pages over HTTP, on this machine only, for browsers that do not open files.
#
# Only files inside the folder are served, no listings, and only to requests for a name of this
# machine, so that no web page elsewhere can read them by pointing its own name here.

HOST = "127.0.0.1"
_NAMES = frozenset({"127.0.0.1", "localhost"})


class PageServer(ThreadingHTTPServer):
    """Serves one folder.

        with PageServer(Path("runs/first/pages"), 8000) as server:
            print(server.address)
            server.serve_forever()

    Port 0 takes any free one. Raises ``UsageError`` where the port is taken.
    """

    daemon_threads = True

    def __init__(self, folder: Path, port: int = 0) -> None:
        self.folder = folder.resolve()
        try:
            super().__init__((HOST, port), _Handler)
        except (OSError, OverflowError) as error:
            problem = str(getattr(error, "strerror", None) or error).lower()
            raise UsageError(f"port {port}: {problem}; give another --port") from error

    @property
    def address(self) -> str:
        """``http://127.0.0.1:PORT/``."""
        return f"http://{HOST}:{self.server_address[1]}/"


class _Handler(SimpleHTTPRequestHandler):
    server: PageServer

    def __init__(self, request: Any, client: Any, server: PageServer) -> None:
        super().__init__(request, client, server, directory=str(server.folder))

    def send_head(self) -> Any:
        host = (self.headers.get("Host") or "").rpartition(":")[0] or self.headers.get("Host")
        if host not in _NAMES:
            self.send_error(HTTPStatus.FORBIDDEN)
            return None
        path = Path(self.translate_path(self.path))
        hidden = any(part.startswith(".") for part in path.parts[len(self.server.folder.parts) :])
        if hidden or not path.resolve().is_relative_to(self.server.folder):
            self.send_error(HTTPStatus.NOT_FOUND)
            return None
        return super().send_head()

    def list_directory(self, path: Any) -> None:
        self.send_error(HTTPStatus.NOT_FOUND)

    def end_headers(self) -> None:
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        return None


LIMIT = 200
_MARK = ".wayword-pages"

OnPage = Callable[[int, int], None]
"""Told after every page: how many are written, of how many."""


@dataclass(frozen=True, slots=True)
class Written:
    """``index`` is the first page; ``pages`` of ``of`` episodes have one now, ``new`` of them
    written this time. ``notice`` says what the pages lack, and why."""

    index: Path
    new: int
    pages: int
    of: int
    notice: str = ""


def write(
    run: Path,
    out: Path | None = None,
    *,
    limit: int = LIMIT,
    episodes: Sequence[str] = (),
    data: Path | None = None,
    trusted: Path | None = None,
) -> Path:
    """Write the pages of a run, and give the path of ``index.html``. See ``write_pages``."""
    given = write_pages(run, out, limit=limit, episodes=episodes, data=data, trusted=trusted)
    return given.index


def write_pages(
    run: Path,
    out: Path | None = None,
    *,
    limit: int = LIMIT,
    episodes: Sequence[str] = (),
    data: Path | None = None,
    trusted: Path | None = None,
    on_page: OnPage | None = None,
) -> Written:
    """Write ``index.html`` and a page an episode to ``out``, which is ``run/pages`` by default.

    The first ``limit`` episodes of the table (failed ones, then the finished in order) get a page;
    with ``episodes`` those do instead, and earlier pages stay. The run may still be going on.
    ``data`` is the data folder, else ``$WAYWORD_DATA``; without the data the pages lack what only
    the dataset knows: instructions, gold paths, maps beyond the places that were seen. ``trusted``
    is a dataset's file that the caller trusts: a file that only the run folder names is never run.

    Raises ``RecordingError`` for a folder that is no run or cannot be written, ``UsageError`` for
    an episode that the run does not have and for an ``out`` that holds something else.
    """
    recorded = RunFolder.read(run)
    listed = heads(recorded)
    wanted = _wanted(listed, limit, episodes)
    folder = run / "pages" if out is None else out
    try:
        _claim(folder, recorded.config)
        return _write(recorded, listed, wanted, folder, data, trusted, on_page or _silent)
    except OSError as error:
        problem = (error.strerror or str(error)).lower()
        raise RecordingError(f"{folder}: {problem}; give another folder with --out") from error


def _write(
    recorded: RecordedRun,
    listed: Sequence[Head],
    wanted: Sequence[str],
    folder: Path,
    data: Path | None,
    trusted: Path | None,
    on_page: OnPage,
) -> Written:
    ids = [head.episode_id for head in listed]
    sources = open_sources(recorded.config, ids, data, trusted)
    metrics, row = _metrics(recorded.config, listed), _row(recorded.path, listed)
    name = recorded.path.resolve().name
    names = {each: file_name(each) for each in ids}
    there = {each for each in ids if (folder / "episodes" / names[each]).is_file()}
    chain = [each for each in ids if each in there or each in set(wanted)]
    links = _links([names[each] for each in chain])
    for done, record in enumerate(records(recorded, set(wanted)), 1):
        file = names[record.episode_id]
        text = episode_page(record, metrics, sources, name, links[file])
        _put(folder / "episodes" / file, text)
        on_page(done, len(wanted))
    overview = Overview(
        name, str(recorded.path), recorded.config, row, metrics, listed, sources,
        {each: names[each] for each in chain}, f"wayword view {recorded.path}",
    )  # fmt: skip
    index = folder / "index.html"
    _put(index, index_page(overview))
    return Written(index, len(wanted), len(chain), len(ids), sources.notice)


def _wanted(listed: Sequence[Head], limit: int, episodes: Sequence[str]) -> list[str]:
    if limit < 0:
        raise UsageError(f"--limit must be at least 0, not {limit}")
    ids = [head.episode_id for head in listed]
    for name in episodes:
        if name not in ids:
            near = suggest(name, ids) if len(ids) < 20_000 else "see index.html"
            raise UsageError(f"this run has no episode {name!r}; {_short(near)}")
    return list(dict.fromkeys(episodes)) if episodes else ids[:limit]


def _short(words: str, most: int = 300) -> str:
    return words if len(words) <= most else f"{words[:most]} …"


def _links(files: Sequence[str]) -> dict[str, Links]:
    """Each page's neighbours."""
    around = ["", *files, ""]
    return {file: Links(around[at], around[at + 2]) for at, file in enumerate(files)}


def _metrics(config: Mapping[str, Any], listed: Sequence[Head]) -> list[Metric]:
    there = {key for head in listed for key in head.scores}
    own = metrics_of(config)
    known = (
        *own,
        *accounting.METRICS,
        *scoring.TRIAL_METRICS,
        *state_accuracy.METRICS,
        *accounting.ADVICE_METRICS,
    )
    return [metric for metric in known if metric.key in there]


def _row(path: Path, listed: Sequence[Head]) -> Mapping[str, Any]:
    """The run's means and intervals; nothing where no episode was scored."""
    if not any(head.scores for head in listed):
        return {}
    row: Mapping[str, Any] = json.loads(reports.table([path], "json"))["rows"][0]
    return row


def _claim(folder: Path, config: Mapping[str, Any]) -> None:
    """Mark the folder as this run's pages; refuse one that holds somebody else's."""
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
    """Whole or not at all, as somebody may be looking at it."""
    beside = path.with_name(f".{path.name}.new")
    beside.write_text(redacted(text), encoding="utf-8", newline="\n")
    os.replace(beside, path)


def _silent(done: int, total: int) -> None:
    return None
