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
from wayword.core.episode import Json, JsonObject
from wayword.core.errors import RecordingError, UsageError, WaywordError
from wayword.core.geometry import Point
from wayword.core.metric import is_solved
from wayword.core.secrets import redacted
from wayword.core.trajectory import Step, Trajectory
from wayword.core.visible import escaped, single_line, visible
from wayword.core.world import Feedback
from wayword.metrics.mistakes.wording import YOU
from wayword.metrics.recorded import as_mapping, listed, place_of, point_of
from wayword.runs.identity import cast_of
from wayword.runs.opening import Trusted
from wayword.runs.play import PlayedGame
from wayword.viewer import index, library, maps
from wayword.viewer.compare import Pairs
from wayword.viewer.data import Sources, open_sources
from wayword.viewer.document import Document, expert_advice
from wayword.viewer.episode import Links, episode_page, prompt_text
from wayword.viewer.index import Overview, RunCard, index_page
from wayword.viewer.library import (
    Cache,
    Head,
    Library,
    NamedRun,
    Rows,
    address,
    slug,
)
from wayword.viewer.maps.babyai import crop
from wayword.viewer.maps.content import SQUARES, Map, line_of
from wayword.viewer.markup import Html, Letters, page, render, unbroken
from wayword.viewer.play import GameEnd

REMOTE = 10_000
"""Rows of longer runs are requested from the server, some at a time."""
# Rows of a table that are requested at once
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
    """Pages by the names of runs: one method for each address of the server.

    Most methods return HTML or JSON text with secrets redacted; those that return
    ``Json`` are encoded by the caller. ``data`` and ``trusted`` are as in ``wayword
    view``: files that only a run folder names are never opened. Every method may raise
    ``UsageError`` for an unknown run or episode and ``RecordingError`` for a damaged
    record.
    """

    def __init__(
        self, runs: Library, data: Path | None = None, trusted: Trusted = ()
    ) -> None:
        self.library = runs
        self.data = data
        self._trusted = trusted
        self._sources: Cache[Sources] = Cache(3)
        self._tables: Cache[JsonObject] = Cache(24)
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
        """Return the run's dataset with the tasks of these episodes, opened at the first call.

        The returned ``Sources`` are a copy with the run's own success metric and limit,
        since runs on the same data share the tasks. Blocks while a dataset is opened or
        a scene is built; ``_soon`` does not.
        """
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
                # All of the page's, since the line above may have dropped some.
                wanted = {*missing, *ids}
                sources.tasks.update(of_ids(sources.dataset.tasks, wanted))
        return replace(
            sources,
            success=rows.success,
            limit=rows.limit,
            by_expert=rows.run.by_expert,
        )

    def _opened(self, rows: Rows) -> Sources:
        """Return the run's dataset if it is open already, else empty sources."""
        opened = self._sources.peek(_data_key(rows.run.config))
        return opened or Sources(success=rows.success)

    def _soon(
        self, rows: Rows, ids: Sequence[str], seconds: float = _MOMENT
    ) -> Sources:
        """Return the tasks that are available within about ``seconds``.

        A task of a generated dataset may require a whole house, so such tasks are read
        one by one until the time is over, and a dataset that is not open yet is not
        waited for.
        """
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
        """Return the home page: a card for each run folder by dataset, the last started first."""
        cards = [self.card(named) for named in self.library.runs()]
        cards.sort(key=lambda card: card.started, reverse=True)
        # The dataset of the last started run comes first, too.
        groups: dict[str, list[RunCard]] = {}
        for card in cards:
            groups.setdefault(card.dataset or "unreadable", []).append(card)
        where = ", ".join(map(str, self.library.given))
        shown = {"where": where, "cards": cards, "groups": groups}
        return redacted(page("home_page.html", "home", served=True, **shown))

    def card(self, each: NamedRun) -> RunCard:
        """Return the card of a run on the home page: status, counts and headline figures."""
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
        status, done, of = library.standing(rows)
        # A run in progress counts to its end; of a finished one, tables say the split's size.
        if status != "running":
            of = max(of, config["episodes_in_split"])
        return RunCard(
            each.name,
            href,
            cast_of(identity),
            identity["models"].get("main", ""),
            config["split"] or identity["dataset"],
            status,
            done,
            of,
            len(rows.failed),
            started=config["started"],
            figures=figures,
        )

    def live_run(self) -> str:
        """Return the slug of the live run that reported last; empty if no run is live."""
        live = []
        for named in self.library.runs():
            progress = library.progress_of(named.path)
            if progress and progress.alive:
                live.append((progress.written, named.slug))
        return max(live, default=(0.0, ""))[1]

    def live_home(self) -> Json:
        """Return the state that the home page watches: the number of runs, and the
        status and finished episodes of each readable one by its address.
        """
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
        key = (name, rows.cache_key, _is_live(rows))

        def make() -> str:
            return redacted(index_page(self.overview(name, rows)))

        return self._pages.get(key, make)

    def overview(self, name: str, rows: Rows) -> Overview:
        """Return the data of a run's page, without the slow parts.

        Intervals, causes and texts are requested by the page later, except for what is
        cached.
        """
        # A browser shows ten thousand rows, but not a million.
        remote = len(rows) > REMOTE
        keys = rows.keys()
        if remote:
            keys = keys[:PAGE]
        heads = rows.heads(keys)
        causes = self._causes.peek(rows.cache_key) or {}
        return Overview(
            self.library.find(name).name,
            rows,
            _means(rows),
            heads,
            self._opened(rows),
            causes=causes,
            served=True,
            later=True,
            remote=remote,
            live="live" if _is_live(rows) else "",
        )

    def metrics(self, name: str) -> str:
        """Return the table of a run's metrics with intervals, as a part of its page."""
        rows = self.library.rows(name)
        row = self._tables.get(rows.cache_key, rows.row)
        overview = self.overview(name, rows)
        shown = replace(overview, row=row, later=False)
        return redacted(index.metrics_part(shown))

    def causes(self, name: str) -> str:
        """Return the causes of failure of a run, as a part of its page; empty if none."""
        rows = self.library.rows(name)
        self._causes_of(rows)  # the overview takes them from the cache
        shown = replace(self.overview(name, rows), later=False)
        return redacted(index.causes_part(shown) or "")

    def _causes_of(self, rows: Rows) -> dict[str, tuple[str, ...]]:
        """Return the causes of episodes without success, by id.

        In a huge run those of the first ``REMOTE`` episodes, or of as many as
        ``_PATIENCE`` allows. Cached until an episode is added.
        """

        def make() -> dict[str, tuple[str, ...]]:
            sources = self.tasks(rows, rows.unsolved()[:REMOTE])
            return causes_by_episode(rows, sources, _PATIENCE)

        return self._causes.get(rows.cache_key, make)

    def texts(self, name: str) -> Json:
        """Return the parts of each row that are loaded later: instruction, causes, scene.

        Empty for a run of more than ``REMOTE`` rows, whose rows come from ``rows``.
        """
        rows = self.library.rows(name)
        shown = self.overview(name, rows)
        names: Sequence[str] = ()
        heads: Sequence[Head] = ()
        if not shown.remote:
            names = rows.names()
            heads = shown.heads
        sources = self.tasks(rows, names)
        causes = self._causes_of(rows)
        shown = replace(shown, sources=sources, causes=causes)
        texts = [list(index.text_of(shown, head)) for head in heads]
        return {"rows": texts, "notice": sources.notice}

    def rows(self, name: str, wish: Mapping[str, str]) -> Json:
        """Return a page of a run's rows: filtered, sorted, from row ``wish["from"]`` on.

        ``wish`` are the fields of the page's form, see :func:`library.select`.
        ``ready`` is False while the texts are still being read, in which case the page
        asks again.
        """
        rows = self.library.rows(name)
        causes = self._causes.peek(rows.cache_key) or {}
        # Filters work on the index alone; only words need the records.
        words = wish.get("q", "").lower()
        texts, ready = self._search(rows, words)
        chosen = library.select(rows, wish, causes, texts)
        first = _number(wish.get("from", ""))
        # Heads of this page alone: a run may have a million rows.
        heads = rows.heads(chosen[first : first + PAGE])
        ids = [head.episode_id for head in heads]
        sources = self._soon(rows, ids, _MOMENT / 4)
        shown = Overview(
            name,
            rows,
            row={},
            heads=(),
            sources=sources,
            causes=causes,
            served=True,
        )
        return {
            "total": len(chosen),
            "rows": [index.row_of(shown, head) for head in heads],
            "ready": ready,
        }

    def search(self, name: str, words: str) -> Json:
        """Return the episodes whose texts contain the words; ``ready`` once all texts are read."""
        rows = self.library.rows(name)
        matches, ready = self._search(rows, words)
        return {"matches": list(map(visible, matches)), "ready": ready}

    def _search(self, rows: Rows, words: str) -> tuple[list[str], bool]:
        """Find words in instructions, thoughts, prompts and answers.

        Returns the ids of the episodes, and True once all texts are read: the first
        search starts to read them in the background, and the page repeats its request
        until then.
        """
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
                    tasks = of_ids(sources.dataset.tasks, part)
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

        reader = self._readers.get(rows.cache_key, begin)
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
        active: Sequence[JsonObject] = ()
        if progress:
            pace = progress.pace
            total = progress.total
            alive = progress.alive
            # A process that was killed leaves episodes that look as if they ran.
            if alive:
                active = progress.episodes
        is_awaited = library.is_awaited(rows)
        sketched = [str(each.get("id")) for each in active[:_SKETCHED]]
        sources = self._soon(rows, sketched)
        episodes = []
        for number, each in enumerate(active):
            episode = str(each.get("id"))
            drawn = None
            if number < _SKETCHED:
                # Drawn again with the gold path once the dataset is open.
                is_known = episode in sources.tasks
                key = (rows.run.path, episode, each.get("step"), is_known)
                walks = [("so far", _walk_of(each))]
                make = partial(maps.together, walks, sources, small=True)
                drawn = self._sketches.get(key, make)
            shown = {
                "step": each.get("step"),
                "of": each.get("of"),
                "actor": each.get("actor"),
                "action": each.get("action"),
                "ok": each.get("ok"),
                "id": visible(episode),
                "href": address(episode),
                "sketch": drawn or "",
                "thought": visible(str(each.get("thought") or "")),
            }
            episodes.append(shown)
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
        """Return the page of an episode; of one that still runs, its moves so far.

        Links lead to the episodes before and after it in the order of the run's rows.
        """
        rows = self.library.rows(name)
        run = self.library.find(name).name
        running = None
        if episode not in rows:
            running = library.active_episode(rows, episode)
        if running:
            sources = self.tasks(rows, [episode])
            written = page(
                "running_page.html",
                "live",
                served=True,
                name=episode,
                run=run,
                instruction=sources.instruction(episode),
                moves=_moves_part(running, sources),
            )
            return redacted(written)
        document = self._document(rows, episode)
        names = rows.names()
        at = names.index(episode)
        before = ""
        after = ""
        if at > 0:
            before = address(names[at - 1])
        if at + 1 < len(names):
            after = address(names[at + 1])
        query = address(episode).removeprefix("episode")
        links = Links(before, after, up="./", ask=query)
        with readable("page"):
            written = episode_page(document, rows.metrics, run, links, served=True)
        return redacted(written)

    def document(self, name: str, episode: str) -> str:
        """Return the data of an episode's page as JSON, for programs."""
        rows = self.library.rows(name)
        document = self._document(rows, episode)
        return redacted(json.dumps(document))

    def sentence(self, name: str, episode: str) -> str:
        """Return the first sentence on the page of an episode, for its row."""
        document: JsonObject = self._document(self.library.rows(name), episode)
        mistake = document["mistake"]
        head = mistake["head"] if mistake else document["ending"][0]
        letters = Letters(document["letters"])
        sentence = Html("<span>{}</span>").format(unbroken(head))
        return redacted(letters.over(sentence))

    def _document(self, rows: Rows, episode: str) -> dict[str, Json]:
        """Return the data of an episode's page, computed once while nothing changes."""
        sources = self.tasks(rows, [episode])
        # A page made without the dataset is made again once it is open.
        key = (rows.cache_key, episode, sources.dataset is None)

        def make() -> dict[str, Json]:
            record = rows.run.record(episode)
            return Document.of(record, sources).json()

        with readable("page"):
            return self._documents.get(key, make)

    def ending(self, game: PlayedGame, letters: Letters) -> GameEnd:
        """Return the end of a game, with places by their letters in the game.

        Assigns letters to the places of the gold path, which the player may not have
        seen. Empty if the game's folder is not in the library.
        """
        episode = game.episode
        name = self.library.name_of(game.result.path)
        if not name:
            return GameEnd()
        rows = self.library.rows(name)
        sources = self.tasks(rows, [episode])
        # Players of one game share its letters: two requests must not assign at once.
        with self._asking:
            for place in sources.gold(episode):
                letters.assign(place)
        # The letters of the game, which its player knows by now.
        sources = replace(sources, letters=letters)
        document = Document.of(rows.run.record(episode), sources)
        drawn = document.drawn
        if isinstance(drawn, Map):
            # The expert's walk replaces the gold path that the dataset lacks.
            if game.path and not drawn.gold:
                drawn.expert = _lines_of(maps.map_of(game.path, sources))
            if drawn.unit == SQUARES:
                crop(drawn)
        mistake = ""
        if document.mistake:
            head, mistake = document.mistake.sentences(YOU)
            # Where a walk stopped is in the result, above.
            if document.mistake.fact.get("did", {}).get("kind") != "stopped_at":
                mistake = f"{head} {mistake}".strip()
        return GameEnd(
            link=f"/run/{slug(name)}/{address(episode)}",
            map=document.map,
            others=self._others(name, episode)[:_OTHERS],
            solved=document.succeeded,
            mistake=mistake,
            left=document.progress.left,
            conditions=document.shown_conditions,
        )

    def _others(self, name: str, episode: str) -> list[tuple[str, bool]]:
        """Return the outcomes of an episode in the other runs on the same data.

        Each as agent and model, and True if solved; equal ones once.
        """
        data = _data_key(self.library.rows(name).run.config)
        others: dict[tuple[str, bool], None] = {}
        for each in self.library.runs():
            # Folders that are damaged, and runs without this episode
            with suppress(WaywordError, KeyError):
                rows = self.library.rows(each.name)
                if each.name == name or _data_key(rows.run.config) != data:
                    continue
                # Agents of several models are told apart by the main one.
                identity = rows.run.config["identity"]
                model = identity["models"].get("main", "")
                player = f"{cast_of(identity)} {model}".strip()
                if player == "human":
                    player = "you, earlier"  # the reader is a player of this game
                solved = is_solved(rows.scored(episode)[rows.success])
                others[player, solved] = None
        return list(others)

    def tally(self, path: Path | None) -> list[bool]:
        """Return True for each solved episode of a run folder, in the order they ended."""
        name = self.library.name_of(path) if path else ""
        if not name:
            return []
        outcomes = self.library.rows(name).outcomes()
        return list(map(is_solved, outcomes.values()))

    def moves(self, name: str, episode: str) -> str:
        """Return the moves of a running episode so far; empty once it has ended.

        That is no error: the page asks for moves that were reported, and the episode may end
        before its question arrives. The next report makes the page load the record.
        """
        rows = self.library.rows(name)
        now = library.active_episode(rows, episode)
        if now is None:
            return ""
        sources = self.tasks(rows, [episode])
        return redacted(_moves_part(now, sources))

    def raw(self, name: str, episode: str, step: str) -> str:
        """Return a step of the record as indented JSON, as it is in the file.

        ``step`` counts from 1. Control characters are made visible and secrets
        redacted. Raises ``UsageError`` for a step that does not exist.
        """
        recorded = self._recorded_step(name, episode, step)
        text = json.dumps(recorded, indent=1, ensure_ascii=False)
        return escaped(redacted(text))

    def prompts(self, name: str, episode: str, step: str) -> str:
        """Return the whole prompts of a step as plain text, each message under its role.

        Made safe as ``raw`` is, with the same error.
        """
        with readable("prompt"):
            calls = self._recorded_step(name, episode, step).get("calls", ())
            text = "\n\n".join(prompt_text(call["prompt"]) for call in calls)
        return visible(redacted(text))

    def _recorded_step(self, name: str, episode: str, step: str) -> JsonObject:
        """Return a step as the record holds it."""
        number = _number(step)
        record = self.library.rows(name).run.raw_record(episode)
        trajectory = record.get("trajectory") or {}
        steps = trajectory.get("steps", [])
        if not 1 <= number <= len(steps):
            raise UsageError(f"episode {episode!r} has no step {step}")
        recorded: JsonObject = steps[number - 1]
        return recorded

    def experts(self, name: str, episode: str) -> str:
        """Return the expert's action at each step, as JSON."""
        rows = self.library.rows(name)
        trajectory = rows.run.record(episode).trajectory
        sources = self.tasks(rows, [episode])
        with readable("expert advice"):
            return redacted(json.dumps(expert_advice(trajectory, sources)))

    def compare(self, names: Sequence[str], episode: str | None = None) -> str:
        """Return the page of two or more runs or, with ``episode``, of its walks in two."""
        if episode is None:
            written = self._pairs.page(names)
        else:
            written = self._pairs.walks(names[:2], episode)
        return redacted(written)

    def flips(self, names: Sequence[str]) -> str:
        """Return the part of a comparison with the episodes that only one run solved."""
        return redacted(self._pairs.flips(names))

    def lengths(self, names: Sequence[str]) -> str:
        """Return the part of a comparison with success by length; empty without lengths."""
        return redacted(self._pairs.lengths(names))


@contextmanager
def readable(part: str) -> Iterator[None]:
    """Raise ``RecordingError`` where a record that was changed by hand has no such part.

    Catches the errors of reading values of the wrong kind; ``part`` names what is
    missing.
    """
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        # One line, whatever the library below put into its message.
        reason = single_line(error)
        problem = f"no {part}, because the record cannot be replayed: {reason[:80]}"
        raise RecordingError(problem) from error


def _number(text: str) -> int:
    """Return a number of a request; 0 for other text, and for one that no list reaches."""
    if text.isdecimal() and len(text) < 10:
        return int(text)
    return 0


def _is_live(rows: Rows) -> bool:
    """True if a run's process reports progress, or has just begun and will do so."""
    progress = library.progress_of(rows.run.path)
    if progress and progress.alive:
        return True
    return library.is_awaited(rows)


def _lines_of(drawn: Map | Html | None) -> list[list[Point]]:
    """Return the walks of a map as lines of points; none for a drawing that is no map."""
    if not isinstance(drawn, Map):
        return []
    return [*map(line_of, drawn.walks.values())]


# A running episode: its moves so far, as the run reports them, at the address at which its
# recorded steps are once it has ended.

_LATEST = 12  # latest moves that are listed


def _moves_part(now: JsonObject, sources: Sources) -> Html:
    """Return a running episode's map and its latest moves, the last one first.

    ``now`` is the episode's entry in the progress that the run wrote. It lists the
    moves up to step ``step``, of which a long walk may have dropped the first; then the
    letters of places, which are those of the listed moves, change.
    """
    moves = listed(now, "moves")
    walk = _walk_of(now)
    step = now.get("step")
    # Counted back from the last step, as the first moves may have been dropped.
    first = 1
    if isinstance(step, int):
        first = step - len(moves) + 1
    numbered = list(enumerate(moves, first))
    latest = numbered[-_LATEST:][::-1]
    drawn = maps.map_of(walk, sources)
    part = render(
        "moves.html",
        step=step,
        of=now.get("of"),
        latest=latest,
        figure=maps.figure(drawn),
    )
    return maps.letters_of(sources, walk).over(part)


def _walk_of(now: JsonObject) -> Trajectory:
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
            # The observations of some worlds do not say where the actor was: its walk then begins
            # where its first listed move ended.
            begins = as_mapping(move.get("start") or pose)
            if not place_of(begins) and point_of(begins) is None:
                begins = pose
            start.setdefault(actor, begins)
            status = "ok" if move.get("ok") else "failed"
            step = Step(
                actor,
                observation={},
                decision=Decision(Action(str(action))),
                feedback=Feedback(status),
                pose=pose,
            )
            steps.append(step)
    episode = str(now.get("id", ""))
    return Trajectory(episode, start, steps)


def _data_key(config: JsonObject) -> str:
    """Return a text that is equal for runs on the same data with the same perceiver.

    ``config`` is a run's ``run.json``. Runs with the same key share an opened
    dataset.
    """
    identity = config["identity"]
    parts = (
        "dataset",
        "dataset_settings",
        "data_checksum",
        "perceiver",
        "dataset_checksum",
        "perturb",
    )
    values = [identity.get(part) for part in parts]
    return json.dumps(values, sort_keys=True, default=str)


def _means(rows: Rows) -> JsonObject:
    """Return the fast part of the run's row: means. Empty before the first episode ends.

    Has the form of a row of ``wayword table``, without the intervals, which take long.
    """
    if not rows.done:
        return {}
    means = {}
    for key in rows.index.keys:
        column = rows.index.column(key)
        # Episodes that failed, or were recorded before a metric existed, have no score.
        scores = column[~np.isnan(column)]
        if key == "cost" and len(scores) < len(column):
            continue  # as in tables: a mean over part of the prices would mislead
        mean = None
        if len(scores):
            mean = float(scores.mean())
        means[key] = {"mean": mean}
    return {"metrics": means}


def causes_by_episode(
    rows: Rows, sources: Sources, patience: float = float("inf")
) -> dict[str, tuple[str, ...]]:
    """Return the causes of episodes without success, by id.

    Stops after the episode during which ``patience`` (seconds) ran out: the rest is
    missing. An episode that raised has the only cause ``failed``.
    """
    end = time.monotonic() + patience
    causes: dict[str, tuple[str, ...]] = {}
    for name in rows.unsolved():
        # An episode that raised has no trajectory to look at.
        if name in rows.failed:
            causes[name] = ("failed",)
            continue
        written = rows.run.raw_record(name)["trajectory"]
        scores = rows.scored(name)
        causes[name] = tuple(sources.causes(name, written, scores))
        if time.monotonic() > end:
            break
    return causes
