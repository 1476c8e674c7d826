"""The served pages, made on request from the current state of the run folders.

    content = Content(Library([Path("runs")]))
    content.home(); content.run("first"); content.episode("first", "5593_0")

Slow results are cached until the data change: an opened dataset, the intervals of a table, the
causes of failures. All caches are bounded, so that a server can run for weeks. Every method may be
called from several threads.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from wayword.core.action import Action, Decision
from wayword.core.dataset import DrawnTasks, of_ids
from wayword.core.episode import Json
from wayword.core.errors import RecordingError, UsageError, WaywordError
from wayword.core.secrets import redacted
from wayword.core.trajectory import Step, Trajectory
from wayword.core.visible import escaped, visible
from wayword.core.world import Feedback
from wayword.metrics.mistakes.wording import YOU
from wayword.metrics.recorded import as_mapping, listed
from wayword.runs.identity import cast_of
from wayword.runs.opening import Trusted
from wayword.runs.play import PlayedGame
from wayword.viewer import index, library, maps
from wayword.viewer.compare import Pairs
from wayword.viewer.data import Sources, open_sources
from wayword.viewer.document import Document, expert_advice
from wayword.viewer.episode import Links, episode_page
from wayword.viewer.index import Overview, RunCard, index_page
from wayword.viewer.library import Cache, Library, NamedRun, Rows, address, slug
from wayword.viewer.maps.babyai import crop
from wayword.viewer.maps.content import Map, Point
from wayword.viewer.markup import Html, Letters, page, render
from wayword.viewer.play import GameEnd

REMOTE = 10_000
"""Rows of longer runs are requested from the server, some at a time."""
PAGE = 200
_TASKS = 20_000  # tasks of a dataset that are cached, approximately
_PATIENCE = 20.0  # seconds after which the causes computed so far are shown
_MOMENT = 0.3  # seconds that a page waits for instructions, and a search for the first one's texts
_AT_ONCE = 2_000  # instructions that are looked up at once for a search
# Seconds between two records whose texts are read, in which pages are made
_TURN = 1e-4
_SKETCHED = 16  # running episodes that have a small map
_OTHERS = 8  # runs whose success in a game's episode is listed at its end


class Content:
    """Pages by the names of runs. ``data`` and ``trusted`` are as in ``wayword view``."""

    def __init__(
        self, runs: Library, data: Path | None = None, trusted: Trusted = ()
    ) -> None:
        self.library = runs
        self.data = data
        self._trusted = trusted
        self._sources: Cache[Sources] = Cache(3)
        self._tables: Cache[Mapping[str, Any]] = Cache(24)
        self._causes: Cache[dict[str, tuple[str, ...]]] = Cache(6)
        self._pairs = Pairs(runs, self.tasks, self._soon)
        self._pages: Cache[str] = Cache(4)
        self._documents: Cache[dict[str, Json]] = Cache(16)
        self._readers: Cache[threading.Thread] = Cache(6)
        self._sketches: Cache[Html | None] = Cache(4 * _SKETCHED)
        # Generated datasets build a house when a task is read; two requests must not
        # build it twice.
        self._asking = threading.Lock()

    # The dataset of a run.

    def tasks(self, rows: Rows, ids: Sequence[str]) -> Sources:
        """Return the run's dataset, opened at the first call, with the tasks of these episodes."""
        config = rows.run.config
        sources = self._sources.get(
            _data_key(config),
            lambda: open_sources(rows.run, (), self.data, self._trusted),
        )
        # Reading a task may build a scene, so only new ones are read.
        missing = {name for name in ids if name not in sources.tasks}
        if missing and sources.dataset is not None:
            with self._asking:
                if len(sources.tasks) > _TASKS:
                    sources.tasks = {}  # pages that are being made keep the old ones
                sources.tasks.update(of_ids(sources.dataset.tasks, {*missing, *ids}))
        return replace(sources, success=rows.success, limit=rows.limit)

    def _opened(self, rows: Rows) -> Sources:
        opened = self._sources.peek(_data_key(rows.run.config))
        return opened or Sources(success=rows.success)

    def _soon(
        self, rows: Rows, ids: Sequence[str], seconds: float = _MOMENT
    ) -> Sources:
        """Return the tasks that are available without delay. A task of a generated dataset may
        require a whole house, so a dataset that is not open yet is not waited for."""
        sources = self._opened(rows)
        if sources.dataset is None:
            return sources
        if not isinstance(sources.dataset.tasks, DrawnTasks):
            return self.tasks(rows, ids)
        end = time.monotonic() + seconds
        for name in ids:
            if time.monotonic() > end:
                break
            sources = self.tasks(rows, [name])
        return sources

    # The home page.

    def home(self) -> str:
        cards = [self.card(named) for named in self.library.runs()]
        cards.sort(key=lambda card: card.started, reverse=True)
        where = ", ".join(map(str, self.library.given))
        return redacted(
            page("home_page.html", "home", served=True, where=where, cards=cards)
        )

    def card(self, each: NamedRun) -> RunCard:
        # An unreadable folder still gets a card, which says what is wrong with it.
        href = f"run/{each.slug}/"
        try:
            rows = self.library.rows(each.name)
        except WaywordError as error:
            return RunCard(each.name, href, status="unreadable", notice=str(error))
        config = rows.run.config
        row = _means(rows)
        identity = config["identity"]
        metrics = {metric.key: metric for metric in rows.metrics}
        figures: list[tuple[Any, Any]] = []
        for key in index.headline(row, rows.success):
            if key in metrics:
                figures.append((metrics[key], row["metrics"][key]["mean"]))
            else:
                figures.append((None, None))  # keeps the columns of cards aligned
        return RunCard(
            each.name, href, cast_of(identity),
            identity["models"].get("main", ""), identity["dataset"],
            *library.standing(rows), len(rows.failed),
            started=config["started"], figures=figures,
        )  # fmt: skip

    def live_run(self) -> str:
        live = []
        for named in self.library.runs():
            progress = library.progress_of(named.path)
            if progress and progress.alive:
                live.append((progress.written, named.slug))
        return max(live, default=(0.0, ""))[1]

    def live_home(self) -> Json:
        listed = self.library.runs()
        runs = {}
        for each in listed:
            try:
                status, done, _ = library.standing(self.library.rows(each.name))
            except WaywordError:
                continue
            runs[f"run/{each.slug}/"] = {"status": status, "done": done}
        return {"count": len(listed), "runs": runs}

    # The page of a run, and the parts of it that are requested later.

    def run(self, name: str) -> str:
        """Return the page of a run. Raises ``UsageError`` if no run has that name."""
        rows = self.library.rows(name)
        key = (name, rows.run.path, rows.version, _is_live(rows))
        return self._pages.get(
            key, lambda: redacted(index_page(self.overview(name, rows)))
        )

    def overview(self, name: str, rows: Rows) -> Overview:
        """Return the data of a run's page, without the slow parts."""
        # A browser shows ten thousand rows, but not a million.
        remote = len(rows) > REMOTE
        heads = rows.heads(rows.keys()[:PAGE] if remote else None)
        return Overview(
            self.library.find(name).name, rows, _means(rows), heads, self._opened(rows),
            causes=self._causes.peek((rows.run.path, rows.version)) or {},
            served=True, later=True, remote=remote,
            live="live" if _is_live(rows) else "",
        )  # fmt: skip

    def metrics(self, name: str) -> str:
        rows = self.library.rows(name)
        row = self._tables.get((rows.run.path, rows.version), rows.row)
        shown = replace(self.overview(name, rows), row=row, later=False)
        return redacted(index.metrics_part(shown))

    def causes(self, name: str) -> str:
        rows = self.library.rows(name)
        self._causes_of(rows)
        return redacted(
            index.causes_part(replace(self.overview(name, rows), later=False)) or ""
        )

    def _causes_of(self, rows: Rows) -> dict[str, tuple[str, ...]]:
        """Causes of episodes without success, by id; in a huge run, of as many as time allows."""

        def make() -> dict[str, tuple[str, ...]]:
            return causes_by_episode(
                rows, self.tasks(rows, rows.unsolved()[:REMOTE]), _PATIENCE
            )

        return self._causes.get((rows.run.path, rows.version), make)

    def texts(self, name: str) -> Json:
        """Parts of each row that are loaded later: instruction, causes, scene."""
        rows = self.library.rows(name)
        shown = self.overview(name, rows)
        if shown.remote:
            names: Sequence[str] = []
        else:
            names = rows.names()
        sources = self.tasks(rows, names)
        shown = replace(shown, sources=sources, causes=self._causes_of(rows))
        texts = []
        if not shown.remote:
            texts = [list(index.text_of(shown, head)) for head in shown.heads]
        return {"rows": texts, "notice": sources.notice}

    def rows(self, name: str, wish: Mapping[str, str]) -> Json:
        """Return a page of a run's rows: filtered, sorted, from row ``wish["from"]`` on."""
        rows = self.library.rows(name)
        causes = self._causes.peek((rows.run.path, rows.version)) or {}
        # Filters work on the index alone; only words need the records.
        texts, ready = self._search(rows, wish.get("q", "").lower())
        chosen = library.select(rows, wish, causes, texts)
        first = _number(wish.get("from", ""))
        heads = rows.heads(chosen[first : first + PAGE])
        sources = self._soon(rows, [head.episode_id for head in heads], _MOMENT / 4)
        shown = Overview(name, rows, {}, (), sources, causes=causes, served=True)
        lines = [index.row_of(shown, head) for head in heads]
        return {"total": len(chosen), "rows": lines, "ready": ready}

    def search(self, name: str, words: str) -> Json:
        """Return the episodes whose texts contain the words; ``ready`` once all are read."""
        matches, ready = self._search(self.library.rows(name), words)
        return {"matches": [visible(each) for each in matches], "ready": ready}

    def _search(self, rows: Rows, words: str) -> tuple[list[str], bool]:
        """Find words in instructions, thoughts, prompts and answers. The first search starts to
        read all texts in the background; the page repeats the request until they are read."""
        if not words.strip():
            return [], True
        ids = rows.ids
        instructions: dict[str, str] = {}

        def read() -> None:
            # A dataset of its own: pages wait for no task that a search reads.
            sources = open_sources(rows.run, (), self.data, self._trusted)
            places = {name: at for at, name in enumerate(ids)}

            def instruction(episode: str) -> str:
                time.sleep(_TURN)
                if episode not in instructions and sources.dataset is not None:
                    # Texts are read in this order, so the next ones are looked up as well. An
                    # episode of a run that still goes on may be in no list yet.
                    at = places.get(episode, len(ids))
                    part = ids[at : at + _AT_ONCE] or [episode]
                    tasks = of_ids(sources.dataset.tasks, set(part))
                    instructions.clear()
                    instructions.update((name, "") for name in part)
                    for name, task in tasks.items():
                        instructions[name] = task.episode.instruction
                return instructions.get(episode, "")

            with suppress(WaywordError):  # the search itself reports the error
                available = sources.dataset is not None
                rows.index.search("", instruction if available else None)

        def begin() -> threading.Thread:
            reader = threading.Thread(target=read, daemon=True)
            reader.start()
            return reader

        reader = self._readers.get((rows.run.path, rows.version), begin)
        if len(rows) <= REMOTE:
            reader.join(_MOMENT)  # a small run is often read within it
        if reader.is_alive():
            return [], False
        return rows.index.search(words, read=False), True

    def live_state(self, name: str) -> Json:
        """Return a run's progress: the running episodes, and the version of its rows.

        Episodes are listed only while the run's process is alive. The first ``_SKETCHED`` have a
        small map of the walk so far, which is drawn once per step.
        """
        rows = self.library.rows(name)
        progress = library.progress_of(rows.run.path)
        pace = ""
        total = 0
        alive = False
        active: Sequence[Mapping[str, Any]] = ()
        if progress:
            pace = progress.pace
            total = progress.total
            alive = progress.alive
            if alive:
                active = progress.episodes
        is_awaited = library.is_awaited(rows)
        sketched = [str(each.get("id")) for each in active[:_SKETCHED]]
        sources = self._soon(rows, sketched)
        episodes = []
        for number, each in enumerate(active):
            shown = {k: each.get(k) for k in ("step", "of", "actor", "action", "ok")}
            episode = str(each.get("id"))
            drawn = None
            if number < _SKETCHED:
                key = rows.run.path, episode, each.get("step"), episode in sources.tasks
                walk = _walk_of(each)
                make = partial(maps.together, [("so far", walk)], sources, small=True)
                drawn = self._sketches.get(key, make)
            thought = visible(str(each.get("thought") or ""))
            shown |= {"id": visible(episode), "href": address(episode)}
            episodes.append(shown | {"sketch": drawn or "", "thought": thought})
        return {
            "running": alive or is_awaited,
            "awaited": is_awaited,
            "done": rows.done,
            "total": total,
            "pace": pace,
            "version": rows.version,
            "episodes": episodes,
        }

    # Episodes.

    def episode(self, name: str, episode: str) -> str:
        rows = self.library.rows(name)
        run = self.library.find(name).name
        running = None
        if episode not in rows:
            running = library.active_episode(rows, episode)
        if running:
            sources = self.tasks(rows, [episode])
            return redacted(page(
                "running_page.html", "live", served=True, name=episode, run=run,
                instruction=sources.instruction(episode), moves=_moves_part(running, sources),
            ))  # fmt: skip
        document = self._document(rows, episode)
        names = rows.names()
        at = names.index(episode)
        before = address(names[at - 1]) if at > 0 else ""
        after = address(names[at + 1]) if at + 1 < len(names) else ""
        links = Links(before, after, "./", address(episode).removeprefix("episode"))
        with readable("page"):
            return redacted(
                episode_page(document, rows.metrics, run, links, served=True)
            )

    def document(self, name: str, episode: str) -> str:
        return redacted(json.dumps(self._document(self.library.rows(name), episode)))

    def _document(self, rows: Rows, episode: str) -> dict[str, Json]:
        sources = self.tasks(rows, [episode])
        # A page made without the dataset is made again once it is open.
        key = rows.run.path, rows.version, episode, sources.dataset is None
        with readable("page"):
            return self._documents.get(
                key, lambda: Document.of(rows.run.record(episode), sources).json()
            )

    def ending(self, game: PlayedGame, letters: Letters) -> GameEnd:
        """Return the end of a game, with places by their letters in the game. The other rows are
        runs on the same data."""
        episode = game.episode
        name = self.library.name_of(game.result.path)
        if not name:
            return GameEnd()
        rows = self.library.rows(name)
        sources = self.tasks(rows, [episode])
        with self._asking:
            for place in sources.gold(episode):
                letters.assign(place)
        # The letters of the game, which its player knows by now.
        sources = replace(sources, letters=letters)
        document = Document.of(rows.run.record(episode), sources)
        drawn = document.drawn
        if isinstance(drawn, Map):
            if game.path and not drawn.gold:
                drawn.expert = _lines_of(maps.map_of(game.path, sources))
            if drawn.unit == "squares":
                crop(drawn)
        mistake = ""
        if document.mistake:
            mistake = document.mistake.words(YOU)
        progress = document.progress
        left = ""
        if progress.values and not progress.conditions:
            left = progress.length(progress.values[-1])
        return GameEnd(
            f"/run/{slug(name)}/{address(episode)}",
            document.map,
            self._others(name, episode)[:_OTHERS],
            document.succeeded,
            mistake,
            left,
            document.shown_conditions,
        )

    def _others(self, name: str, episode: str) -> list[tuple[str, bool]]:
        """Return the outcomes of an episode in the other runs on the same data, each once."""
        data = _data_key(self.library.rows(name).run.config)
        others: dict[tuple[str, bool], None] = {}
        for each in self.library.runs():
            # Folders that are damaged, and runs without this episode
            with suppress(WaywordError, KeyError):
                rows = self.library.rows(each.name)
                if each.name == name or _data_key(rows.run.config) != data:
                    continue
                identity = rows.run.config["identity"]
                model = identity["models"].get("main", "")
                player = f"{cast_of(identity)} {model}".strip()
                if player == "human":
                    player = "you, earlier"
                solved = rows.scored(episode)[rows.success] > 0.5
                others[player, solved] = None
        return list(others)

    def tally(self, path: Path | None) -> list[bool]:
        """Return True for each solved episode of a run folder, in the order they ended."""
        name = self.library.name_of(path) if path else ""
        if not name:
            return []
        outcomes = self.library.rows(name).outcomes()
        return [score > 0.5 for score in outcomes.values()]

    def moves(self, name: str, episode: str) -> str:
        rows = self.library.rows(name)
        now = library.active_episode(rows, episode)
        if now is None:
            raise UsageError(f"episode {episode!r} is not running")
        return redacted(_moves_part(now, self.tasks(rows, [episode])))

    def raw(self, name: str, episode: str, step: str) -> str:
        number = _number(step)
        record = self.library.rows(name).run.raw_record(episode)
        trajectory = record.get("trajectory") or {}
        steps = trajectory.get("steps", [])
        if not 1 <= number <= len(steps):
            raise UsageError(f"episode {episode!r} has no step {step}")
        text = json.dumps(steps[number - 1], indent=1, ensure_ascii=False)
        return escaped(redacted(text))

    def experts(self, name: str, episode: str) -> str:
        """Return the expert's action at each step, as JSON."""
        rows = self.library.rows(name)
        trajectory = rows.run.record(episode).trajectory
        sources = self.tasks(rows, [episode])
        with readable("expert advice"):
            return redacted(json.dumps(expert_advice(trajectory, sources)))

    def compare(self, names: Sequence[str], episode: str | None = None) -> str:
        if episode is None:
            written = self._pairs.page(names)
        else:
            written = self._pairs.walks(names[:2], episode)
        return redacted(written)

    def flips(self, names: Sequence[str]) -> str:
        return redacted(self._pairs.flips(names))

    def lengths(self, names: Sequence[str]) -> str:
        return redacted(self._pairs.lengths(names))


@contextmanager
def readable(part: str) -> Iterator[None]:
    """Raise ``RecordingError`` where a record that was changed by hand has no such part."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        # One line, whatever the library below put into its message.
        reason = " ".join(str(error).split())[:80]
        problem = f"no {part}, because the record cannot be replayed: {reason}"
        raise RecordingError(problem) from error


def _number(text: str) -> int:
    """Return a number of a request; 0 for other text, and for a number that no list reaches."""
    if text.isdecimal() and len(text) < 10:
        return int(text)
    return 0


def _is_live(rows: Rows) -> bool:
    progress = library.progress_of(rows.run.path)
    if progress and progress.alive:
        return True
    return library.is_awaited(rows)


def _lines_of(drawn: Map | Html | None) -> list[list[Point]]:
    """Return the walks of a map as lines of points."""
    if not isinstance(drawn, Map):
        return []
    lines = []
    for walk in drawn.walks.values():
        line: list[Point] = []
        for stop in walk:
            line += [*stop.route, stop.point]
        lines.append(line)
    return lines


# A running episode: its moves so far, as the run reports them, at the address at which its
# recorded steps are once it has ended.

_LATEST = 12  # latest moves that are listed


def _moves_part(now: Mapping[str, Any], sources: Sources) -> Html:
    moves = listed(now, "moves")
    walk = _walk_of(now)
    step = now.get("step")
    first = 1
    if isinstance(step, int):
        first = step - len(moves) + 1
    numbered = list(enumerate(moves, first))
    latest = numbered[-_LATEST:][::-1]
    figure = maps.figure(maps.map_of(walk, sources))
    part = render(
        "moves.html", step=step, of=now.get("of"), latest=latest, figure=figure
    )
    return maps.letters_of(sources, walk).over(part)


def _walk_of(now: Mapping[str, Any]) -> Trajectory:
    """Return a running episode's trajectory so far, from the start of each actor's first move."""
    start: dict[str, Any] = {}
    steps = []
    for move in listed(now, "moves"):
        actor = str(move.get("actor", ""))
        # The file is written by another process, and is read as untrusted.
        action = move.get("action", "")
        pose = move.get("pose")
        # A move without a pose cannot be drawn.
        if isinstance(pose, Mapping):
            start.setdefault(actor, as_mapping(move.get("start") or pose))
            status = "ok" if move.get("ok") else "failed"
            decision = Decision(Action(str(action)))
            steps.append(Step(actor, {}, decision, Feedback(status), pose))
    return Trajectory(str(now.get("id", "")), start, steps)


def _data_key(config: Mapping[str, Any]) -> str:
    identity = config["identity"]
    parts = (
        "dataset",
        "dataset_settings",
        "data_checksum",
        "perceiver",
        "dataset_checksum",
    )
    values = [identity.get(part) for part in (*parts, "perturb")]
    return json.dumps(values, sort_keys=True, default=str)


def _means(rows: Rows) -> Mapping[str, Any]:
    """Return the fast part of the run's row: means. Empty before the first episode ends."""
    if not rows.done:
        return {}
    means = {}
    for key in rows.index.keys:
        column = rows.index.column(key)
        # Episodes that failed, or were recorded before a metric existed, have no score.
        scores = column[~np.isnan(column)]
        if key == "cost" and len(scores) < len(column):
            continue  # as in tables: a mean over part of the prices would mislead
        means[key] = {"mean": float(scores.mean()) if len(scores) else None}
    return {"metrics": means}


def causes_by_episode(
    rows: Rows, sources: Sources, patience: float = float("inf")
) -> dict[str, tuple[str, ...]]:
    """Causes of episodes without success, or of as many as ``patience`` (seconds) allows."""
    end = time.monotonic() + patience
    causes: dict[str, tuple[str, ...]] = {}
    for name in rows.unsolved():
        # An episode that raised has no trajectory to look at.
        if name in rows.failed:
            causes[name] = ("failed",)
            continue
        written = rows.run.raw_record(name)["trajectory"]
        causes[name] = tuple(sources.causes(name, written, rows.scored(name)))
        if time.monotonic() > end:
            break
    return causes
