"""The served pages, made when they are asked for, out of the run folders as they are now.

    content = Content(Library([Path("runs")]))
    content.home(); content.run("first"); content.episode("first", "5593_0")

What takes long is made once and kept while nothing changes: a dataset that was opened, the
intervals of a table, the causes of failures. All of it is bounded, so that a server may stand open
for weeks. Every method may be called from several threads.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from wayword.core.action import Action, Decision
from wayword.core.dataset import DrawnTasks, of_ids
from wayword.core.episode import Json
from wayword.core.errors import UsageError, WaywordError
from wayword.core.files import process_runs
from wayword.core.secrets import redacted
from wayword.core.trajectory import Step, Trajectory
from wayword.core.world import Feedback
from wayword.runs.active import PROGRESS
from wayword.runs.plan import cast_of
from wayword.viewer import index
from wayword.viewer.causes import causes
from wayword.viewer.compare import Pairs
from wayword.viewer.course import experts
from wayword.viewer.data import Sources, open_sources
from wayword.viewer.episode import Links, episode_page
from wayword.viewer.index import Overview, RunCard, home_page, index_page, means
from wayword.viewer.library import Found, Kept, Library, Rows, Wish, select
from wayword.viewer.maps import generic
from wayword.viewer.maps.generic import letters_of
from wayword.viewer.markup import Html, join, page, tag, visible

REMOTE = 10_000
"""Runs of more episodes have their rows asked for, some at a time."""
PAGE = 200
_TASKS = 20_000
"""Tasks of a dataset that are kept, more or less."""
_PATIENCE = 20.0
"""Seconds after which the causes that are known by then are shown."""
_MOMENT = 0.3
"""Seconds that a page waits for instructions."""


class Content:
    """Pages by the names of runs. ``data`` and ``trusted`` are as in ``wayword view``."""

    def __init__(
        self, library: Library, data: Path | None = None, trusted: Path | None = None
    ) -> None:
        self.library, self.data, self._trusted = library, data, trusted
        self._sources: Kept[Sources] = Kept(3)
        self._tables: Kept[Mapping[str, Any]] = Kept(24)
        self._causes: Kept[dict[str, tuple[str, ...]]] = Kept(6)
        self._pairs = Pairs(library, self.tasks, self._soon)
        self._pages: Kept[str] = Kept(4)
        self._asking = threading.Lock()

    def sources(self, rows: Rows) -> Sources:
        """The run's dataset, opened the first time."""
        config = rows.run.config
        return self._sources.get(
            _data_key(config), lambda: open_sources(config, (), self.data, self._trusted)
        )

    def tasks(self, rows: Rows, ids: Sequence[str]) -> Sources:
        """The run's dataset, with the tasks of these episodes looked up."""
        sources = self.sources(rows)
        missing = {name for name in ids if name not in sources.tasks}
        if missing and sources.dataset is not None:
            with self._asking:
                if len(sources.tasks) > _TASKS:
                    sources.tasks = {}  # pages that are being made keep the old ones
                sources.tasks.update(of_ids(sources.dataset.tasks, {*missing, *ids}))
        return replace(sources, success=rows.success)

    def _soon(self, rows: Rows, ids: Sequence[str]) -> Sources:
        """As ``tasks``, as far as a moment allows: a task of a generated dataset may cost a whole
        house, and one that nobody has opened yet is not waited for."""
        sources, end = self._ready(rows), time.monotonic() + _MOMENT
        if sources.dataset is None:
            return sources
        if not isinstance(sources.dataset.tasks, DrawnTasks):
            return self.tasks(rows, ids)
        for each in ids:
            if time.monotonic() > end:
                break
            sources = self.tasks(rows, [each])
        return sources

    def _ready(self, rows: Rows) -> Sources:
        """What is known of the dataset without waiting for it."""
        return self._sources.there(_data_key(rows.run.config)) or Sources(success=rows.success)

    def overview(self, name: str, rows: Rows, later: bool) -> Overview:
        """A run's page in data. ``later``: without what takes time."""
        heads, going = rows.heads(), progress_of(rows.run.path)
        large = len(heads) > REMOTE
        return Overview(
            self.library.find(name).name, rows, _means(rows) if later else self.table(rows), heads,
            self._ready(rows) if later else self.tasks(rows, [] if large else rows.names()),
            _Addresses(), causes=self._causes.there((rows.run.path, rows.version)) or {},
            served=True, later=later, remote=large,
            going="live" if going and going.alive else "",
        )  # fmt: skip

    def home(self) -> str:
        """The page of all runs."""
        found = self.library.found()
        cards = [self.card(each) for each in found]
        cards.sort(key=lambda card: card.started, reverse=True)
        return redacted(home_page(", ".join(map(str, self.library.given)), cards))

    def card(self, each: Found) -> RunCard:
        """How a run stands."""
        href = f"run/{each.slug}/"
        try:
            rows = self.library.rows(each.name)
        except WaywordError as error:
            return RunCard(each.name, href, status="unreadable", notice=str(error))
        config = rows.run.config
        identity = config["identity"]
        row = _means(rows)
        known = {metric.key: metric for metric in rows.metrics}
        wanted = index.headline(row, rows.success)
        status, done, of = standing(rows)
        return RunCard(
            each.name, href, cast_of(identity),
            str((identity.get("models") or {}).get("main", "")),
            str(identity.get("dataset", "")), str(config.get("family", "")),
            status, done, of, len(rows.failed), started=str(config.get("started", "")),
            figures=[(known[key], means(row, key)) for key in wanted if key in known],
        )  # fmt: skip

    def going_home(self) -> Json:
        """How every run stands, for the home page."""
        found = self.library.found()
        runs = {}
        for each in found:
            try:
                status, done, _ = standing(self.library.rows(each.name))
            except WaywordError:
                continue
            runs[f"run/{each.slug}/"] = {"status": status, "done": done}
        return {"count": len(found), "runs": runs}

    def going(self, name: str) -> Json:
        """How a run stands: the episodes under way, and whether rows have been added."""
        rows = self.library.rows(name)
        told = progress_of(rows.run.path)
        alive = bool(told and told.alive)
        episodes = [
            {**{k: each.get(k) for k in ("step", "of", "actor", "action", "ok", "pose")},
             "id": visible(str(each.get("id"))), "href": address(str(each.get("id")))}
            for each in (told.episodes if told and alive else ())
        ]  # fmt: skip
        return {
            "going": alive, "done": rows.done, "version": rows.version, "episodes": episodes
        }  # fmt: skip

    def run(self, name: str) -> str:
        """The page of a run. Raises ``UsageError`` where there is none of that name."""
        rows = self.library.rows(name)
        going = progress_of(rows.run.path)
        key = (name, rows.run.path, rows.version, bool(going and going.alive))
        return self._pages.get(key, lambda: redacted(index_page(self.overview(name, rows, True))))

    def metrics(self, name: str) -> str:
        """The part of a run's page with metrics and intervals."""
        rows = self.library.rows(name)
        shown = replace(self.overview(name, rows, later=True), row=self.table(rows), later=False)
        return redacted(index.metrics_part(shown))

    def table(self, rows: Rows) -> Mapping[str, Any]:
        """The run's row of ``wayword table``, with intervals."""
        return self._tables.get((rows.run.path, rows.version), rows.row)

    def causes(self, name: str) -> str:
        """The part of a run's page that counts why episodes failed."""
        rows = self.library.rows(name)
        self.causes_of(rows)
        shown = replace(self.overview(name, rows, later=True), later=False)
        return redacted(index.causes_part(shown) or "")

    def causes_of(self, rows: Rows) -> dict[str, tuple[str, ...]]:
        """Causes by episode, of those without success; of a huge run, of as many as time allows."""

        def make() -> dict[str, tuple[str, ...]]:
            return found_causes(rows, self.tasks(rows, rows.lost()[:REMOTE]), _PATIENCE)

        return self._causes.get((rows.run.path, rows.version), make)

    def texts(self, name: str) -> Json:
        """What the page of a run shows of each row later: instruction, causes, scene."""
        rows = self.library.rows(name)
        heads = rows.heads()
        sources = self.tasks(rows, [] if len(heads) > REMOTE else rows.names())
        known = self.causes_of(rows)
        shown = replace(
            self.overview(name, rows, later=True), sources=sources, causes=known, heads=heads
        )
        few = [] if shown.remote else [list(index.text_of(shown, head)) for head in heads]
        return {"rows": few, "notice": sources.notice}

    def rows(self, name: str, wish: Wish) -> Json:
        """Some rows of a run: filtered, sorted, from ``wish.start`` on."""
        rows = self.library.rows(name)
        known = self._causes.there((rows.run.path, rows.version)) or {}
        chosen = select(rows, wish, known)
        ids = [head.episode_id for head in chosen[wish.start : wish.start + PAGE]]
        shown = Overview(name, rows, {}, (), self._soon(rows, ids), _Addresses(), causes=known)
        part = chosen[wish.start : wish.start + PAGE]
        return {"total": len(chosen), "rows": [index.row_of(shown, head) for head in part]}

    def episode(self, name: str, episode: str) -> str:
        """The page of an episode. Raises ``UsageError`` where there is none."""
        rows = self.library.rows(name)
        sources = self.tasks(rows, [episode])
        if episode not in rows and (now := under_way(rows, episode)):
            return redacted(moving_page(now, sources, self.library.find(name).name))
        record = rows.run.record(episode)
        known = rows.metrics
        names = rows.names()
        at = names.index(episode)
        before = address(names[at - 1]) if at else ""
        after = address(names[at + 1]) if at + 1 < len(names) else ""
        asked = f"?id={quote(episode, safe='', errors='replace')}"
        links = Links(before, after, "./", asked)
        return redacted(
            episode_page(record, known, sources, self.library.find(name).name, links, served=True)
        )

    def moves(self, name: str, episode: str) -> str:
        """The part of the page of an episode under way that moves. Raises ``UsageError``."""
        rows = self.library.rows(name)
        now = under_way(rows, episode)
        if now is None:
            raise UsageError(f"episode {episode!r} is not under way")
        return redacted(moves_part(now, self.tasks(rows, [episode])))

    def raw(self, name: str, episode: str, step: str) -> str:
        """A step's record as JSON."""
        number = int(step) if step.isdecimal() and len(step) < 8 else 0
        told = self.library.rows(name).run.written(episode).get("trajectory") or {}
        steps = told.get("steps", [])
        if not 1 <= number <= len(steps):
            raise UsageError(f"episode {episode!r} has no step {step}")
        return redacted(json.dumps(steps[number - 1], indent=1, ensure_ascii=False))

    def experts(self, name: str, episode: str) -> str:
        """What an expert would do at each step, as JSON."""
        rows = self.library.rows(name)
        told = rows.run.record(episode).trajectory
        return redacted(json.dumps(experts(told, self.tasks(rows, [episode]))))

    def compare(self, names: Sequence[str], episode: str | None = None) -> str:
        """Runs side by side; with an episode, its two walks."""
        return redacted(self._pairs.walks(names[:2], episode) if episode is not None
                        else self._pairs.page(names))  # fmt: skip

    def compared_texts(self, names: Sequence[str]) -> Json:
        """The instructions that a page of compared runs lists, by episode."""
        return {visible(name): redacted(text) for name, text in self._pairs.texts(names).items()}


class _Addresses(dict[str, str]):
    """Every episode has a page, at an address that is worked out when asked."""

    def __missing__(self, episode: str) -> str:
        return address(episode)

    def get(self, episode: str, default: Any = None) -> Any:
        return address(episode)

    def __contains__(self, episode: object) -> bool:
        return True


def address(episode: str) -> str:
    """Where the served page of an episode is, from the page of its run."""
    return f"episode?id={quote(episode, safe='', errors='replace')}"


def _data_key(config: Mapping[str, Any]) -> str:
    identity = config["identity"]
    parts = ("dataset", "dataset_settings", "data_checksum", "perceiver", "dataset_checksum")
    return json.dumps([identity.get(part) for part in parts], sort_keys=True, default=str)


def _means(rows: Rows) -> Mapping[str, Any]:
    """As much of the run's row as costs nothing: means. Empty before the first episode ends."""
    if not rows.done:
        return {}
    found = {}
    for key in rows.index.keys:
        column = rows.index.column(key)
        there = column[~np.isnan(column)]
        found[key] = {"mean": float(there.mean()) if len(there) else None}
    if np.isnan(rows.index.column("cost")).any():
        found.pop("cost", None)  # as in tables: a mean over the known prices would mislead
    return {"metrics": found}


def found_causes(
    rows: Rows, sources: Sources, patience: float = float("inf")
) -> dict[str, tuple[str, ...]]:
    """The causes of every episode without success, or of as many as ``patience`` seconds allow."""
    end = time.monotonic() + patience
    found: dict[str, tuple[str, ...]] = {}
    failed = rows.failed
    for name in rows.lost():
        if name in failed:
            found[name] = ("failed",)
            continue
        written, scores = rows.run.written(name)["trajectory"], rows.scored(name)
        found[name] = causes(written, scores, sources.instruction(name))
        if time.monotonic() > end:
            break
    return found


# A run that is going on: what it says of itself beside the run folder, and the pages of that.
#
# The run writes a small file at most twice a second; viewers read it. The run knows nothing of who
# watches, so nobody who does can slow it. An episode under way has a page with the moves so far on
# its map, at the address at which its recorded steps are once it has ended.

_STALE = 120.0
"""Seconds without a word after which a run is taken for dead; a slow model may take that long."""


@dataclass(frozen=True, slots=True)
class Progress:
    """``done`` of ``total`` episodes; ``episodes`` are those under way, as the run wrote them."""

    done: int
    total: int
    alive: bool
    episodes: tuple[dict[str, Any], ...]

    def of(self, episode: str) -> dict[str, Any] | None:
        """What is said of an episode under way, None where it is not."""
        return next((each for each in self.episodes if each.get("id") == episode), None)


def progress_of(run: Path) -> Progress | None:
    """What a run last said of itself, or None where it never did. Never raises."""
    path = run / PROGRESS
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        age = time.time() - path.stat().st_mtime
        alive = not told.get("over") and (process_runs(int(told["process"])) or age < 5)
        alive = alive and age < _STALE * 60
        episodes = tuple(each for each in told.get("episodes", ()) if isinstance(each, dict))
        return Progress(int(told["done"]), int(told["total"]), alive, episodes)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def under_way(rows: Rows, episode: str) -> Mapping[str, Any] | None:
    """What a run that goes on says of an episode that has not ended; None where it says nothing."""
    told = progress_of(rows.run.path)
    return told.of(episode) if told and told.alive else None


def standing(rows: Rows) -> tuple[str, int, int]:
    """``going on``, ``complete`` or ``part``; how many episodes are finished, and of how many."""
    told = progress_of(rows.run.path)
    split = rows.run.config.get("episodes_in_split")
    of = told.total if told else split if isinstance(split, int) else 0
    done = rows.done
    if told and told.alive:
        return "going on", done, of
    return ("complete" if done >= of else "part"), done, of


_SHOWN = 12
"""Latest moves that are listed."""


def moving_page(now: Mapping[str, Any], sources: Sources, run: str) -> str:
    """The document of an episode under way; its script brings the moves up to date."""
    name = str(now.get("id", ""))
    top = tag(
        "nav", tag("a", "‹ ", run, href="./", rel="up", title="all episodes (u)"),
        tag("span", tag("bdi", name), class_="grow"), class_="top",
    )  # fmt: skip
    words = sources.instruction(name)
    head = tag(
        "header", tag("h1", tag("bdi", name)), tag("blockquote", words) if words else None,
        tag("p", tag("b", "going on", class_="badge odd")), class_="head",
    )  # fmt: skip
    main = tag("main", head, moves_part(now, sources), id="moving", data_id=name)
    return page(f"{name} · {run}", join([top, main]), "live", served=True)


def moves_part(now: Mapping[str, Any], sources: Sources) -> Html:
    """The map with the moves so far, and the latest of them in words."""
    moves = [each for each in now.get("moves", ()) if isinstance(each, Mapping)]
    step = now.get("step")
    first = step - len(moves) + 1 if isinstance(step, int) else 1
    lines = [
        tag(
            "li", tag("code", str(move.get("action", ""))), " ",
            tag("span", str(move.get("actor", "")), class_="dim"),
            None if move.get("ok") else tag("b", " refused", class_="odd"),
            value=number,
        )
        for number, move in list(enumerate(moves, first))[: -_SHOWN - 1 : -1]
    ]  # fmt: skip
    told = tag("p", f"Step {step} of {now.get('of')}", class_="lead", id="at")
    walk = _so_far(str(now.get("id", "")), moves)
    drawn = generic.draw(walk, sources)
    part = tag(
        "div", tag("aside", drawn), tag("div", told, tag("ol", *lines, class_="moves")),
        class_="two", id="moves",
    )  # fmt: skip
    return letters_of(sources, walk).over(part)


def _so_far(name: str, moves: list[Mapping[str, Any]]) -> Trajectory:
    """The moves as a trajectory that begins where the first one led."""
    told = [each for each in moves if isinstance(each.get("pose"), Mapping)]
    start: dict[str, Any] = {}
    for each in told:
        start.setdefault(str(each.get("actor", "")), each["pose"])
    steps = [
        Step(
            str(each.get("actor", "")), {}, Decision(Action(str(each.get("action", "")))),
            Feedback("ok" if each.get("ok") else "failed"), each["pose"],
        )
        for each in told
    ]  # fmt: skip
    return Trajectory(name, start, steps)
