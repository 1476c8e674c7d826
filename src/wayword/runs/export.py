"""Finished episodes as training data: a strategy asks, and answers with what was done.

Each episode is replayed in its world while a strategy plays it against a model that dictates every
answer. So the prompts are those that the strategy would have asked, byte for byte, and an answer
holds what a replay can know: the action and, where the recipe asks for a state, the true one.
Thoughts and plans are left out unless the run recorded them and ``thoughts`` is set.

Source: LangSuitE (Jia et al. 2024), section 3.3, "Gold Trajectories Generation".
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import random
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from wayword.agents.person import with_answerer
from wayword.agents.strategies.strategy import Strategy, StrategySettings, instruction
from wayword.core import registry
from wayword.core.action import STOP, Action, Decision, Rejection
from wayword.core.agent import Shared, Toolkit
from wayword.core.dataset import Dataset, Task, of_ids
from wayword.core.errors import RecordingError, UsageError, needing
from wayword.core.game import Game
from wayword.core.model import Completion, Image, Message
from wayword.core.recording import DictatedModel
from wayword.core.trajectory import HISTORY_DROPPED, ModelCall, Step, Trajectory
from wayword.core.world import Feedback
from wayword.runs.active import demonstrations
from wayword.runs.codec import plain
from wayword.runs.plan import cast_of, dataset_of
from wayword.runs.record import RecordedRun, RunFolder
from wayword.runs.running import recorded_answers
from wayword.settings import make

Format = Literal["chat", "steps"]
OnEpisode = Callable[[int, int], None]
"""Called after every episode: how many are done, of how many."""


@dataclass(frozen=True, slots=True)
class Export:
    """Options of an export.

    ``strategy`` is the agent that would have been asked, with ``settings`` of its own; ``actors``
    limits the lines to these. Failures are left out unless ``everything``. ``thoughts`` are kept
    where a run has them, as those of models do.
    """

    strategy: str = "act"
    form: Format = "chat"
    settings: Mapping[str, Any] = field(default_factory=dict)
    actors: Sequence[str] = ()
    everything: bool = False
    data: Path | None = None
    thoughts: bool = False

    def opened(self) -> tuple[type[Strategy], StrategySettings]:
        """The strategy's class and settings. Raises ``UsageError`` for an agent that is none."""
        cls = registry.load("agent", self.strategy)
        if not issubclass(cls, Strategy):
            raise UsageError(
                f"--as {self.strategy}: is not a strategy; use act, react or react_emmem, or an "
                "agent of your own that derives from Strategy"
            )
        settings: StrategySettings = make(cls.Settings, self.settings, self.strategy)
        return cls, settings


@dataclass(slots=True)
class Card:
    """Contents of an export, and what it left out and why."""

    strategy: str
    form: str
    settings: Mapping[str, Any]
    runs: list[str] = field(default_factory=list)
    splits: list[str] = field(default_factory=list)
    episodes: int = 0
    lines: int = 0
    decisions: int = 0
    characters: int = 0
    longer_than_context: int = 0
    unlisted: int = 0
    omitted: dict[str, int] = field(default_factory=dict)
    untold: list[str] = field(default_factory=list)
    wayword: str = field(default_factory=lambda: version("wayword"))

    def omit(self, cause: str, count: int = 1) -> None:
        """Count what is left out, by its cause."""
        if count:
            self.omitted[cause] = self.omitted.get(cause, 0) + count

    @property
    def left_out(self) -> str:
        """Counts and causes of what is left out; empty for nothing."""
        return ", ".join(f"{count} {cause}" for cause, count in sorted(self.omitted.items()))

    def why_empty(self) -> str:
        """The reason for an export without a line."""
        if self.left_out:
            kept = (
                "; --all keeps episodes without success"
                if "without success" in self.omitted
                else ""
            )
            return f"left out: {self.left_out}{kept}"
        return "the runs have no finished episode"

    @property
    def line(self) -> str:
        """One-line summary for users."""
        lines = f"{self.lines:,} lines of {self.episodes:,} episodes ({self.decisions:,} decisions)"
        return f"{lines} from {', '.join(self.splits)}; left out: {self.left_out or 'none'}"

    @property
    def notices(self) -> list[str]:
        """Lines that a person should read before training on it."""
        lines = [
            f"{split} is not a training split: do not test on it afterwards"
            for split in self.splits
            if "train" not in split.rpartition(":")[2]
        ]
        if self.untold:
            lines.append(
                f"answers lack {', '.join(self.untold)}, which {self.strategy} asks for: no one "
                "had them, and a model learns to leave them out (--as act asks for nothing more)"
            )
        if self.unlisted:
            lines.append(f"{self.unlisted} actions were legal, but not among those listed")
        if self.longer_than_context:
            lines.append(
                f"{self.longer_than_context} conversations are longer than the strategy's context: "
                "it would have dropped their oldest steps (see the field whole)"
            )
        return lines


def export(
    runs: Sequence[Path], out: Path, what: Export, on_episode: OnEpisode | None = None
) -> Card:
    """Write the episodes of run folders as JSON lines, and a card next to them.

    The file appears whole or not at all; ``OUT.card.json`` says what it holds. The same run folders
    give the same bytes. Raises ``UsageError`` for an agent that is no strategy or data that are not
    the run's own, ``RecordingError`` for a folder that is no run.
    """
    cls, settings = what.opened()
    opened = [RunFolder.read(path) for path in runs]
    untold = [name for name in cls(settings, Toolkit()).unknown if "." in name or not what.thoughts]
    card = Card(what.strategy, what.form, asdict(settings), untold=untold)
    total = sum(len(run.index) for run in opened)
    new = out.with_name(f".{out.name}.new")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with new.open("w", encoding="utf-8", newline="\n") as file:
            for done, lines in enumerate(_lines(opened, what, cls, settings, card), 1):
                file.writelines(lines)
                if on_episode:
                    on_episode(done, total)
        os.replace(new, out)
        text = json.dumps(asdict(card), indent=2, ensure_ascii=False) + "\n"
        out.with_name(f"{out.name}.card.json").write_text(text, encoding="utf-8")
    except OSError as error:
        raise RecordingError(f"{out}: cannot be written ({error.strerror})") from error
    finally:
        with suppress(OSError):
            new.unlink(missing_ok=True)
    return card


def _lines(
    runs: Sequence[RecordedRun],
    what: Export,
    cls: type[Strategy],
    settings: StrategySettings,
    card: Card,
) -> Iterator[list[str]]:
    """The lines of one episode after the other; no lines for one that is left out."""
    digests: set[bytes] = set()
    shared = Shared()
    for run in runs:
        dataset = dataset_of(run, what.data)
        tasks = of_ids(dataset.tasks, set(run.index.ids()))
        identity = run.config["identity"]
        card.runs.append(run.path.name)
        split = str(identity["dataset"])
        card.splits += [] if split in card.splits else [split]
        for record in run.records():
            task, trajectory = tasks.get(record.episode_id), record.trajectory
            success = record.scores.get(dataset.family.success, 0.0) > 0.5
            try:
                if not (what.everything or success):
                    raise Unfit("without success")
                if task is None:
                    raise Unfit("not in the dataset")
                tools = {"shared": shared, "max_steps": identity.get("max_steps") or 0}
                work = _replay(task, trajectory, dataset, cls, settings, tools, what.thoughts)
                players = [p for p in asyncio.run(work) if p.actor in (what.actors or [p.actor])]
                if not players:
                    raise Unfit("without a decision")
            except Unfit as reason:
                card.omit(str(reason))
                yield []
                continue
            about = {
                "episode": record.episode_id,
                "split": split,
                "family": dataset.family.name,
                "agent": cast_of(identity),
                "run": run.path.name,
                "success": success,
            }
            new = []
            for player in players:
                # It left at once and others did it all: nothing that one should learn from.
                if len(trajectory.start) > 1 and set(trajectory.actions(player.actor)) == {STOP}:
                    card.omit("an actor that only stopped")
                    continue
                card.decisions += len(player.answers)
                card.longer_than_context += not player.complete
                card.unlisted += player.unlisted
                for text in player.lines(what):
                    digest = hashlib.sha256(json.dumps(text).encode()).digest()
                    if digest in digests:
                        card.omit("twice")
                    else:
                        new.append(json.dumps({**text, **about}, ensure_ascii=False) + "\n")
                    digests.add(digest)
            card.lines += len(new)
            card.episodes += bool(new)
            card.characters += sum(map(len, new))
            yield new


# A recorded episode, played again by strategies whose answers are dictated.


class Unfit(Exception):
    """The reason, in a few words, why an episode cannot be exported."""


class _Player:
    """Strategy of an actor, the model that dictates its answers, and every prompt and answer.

    ``complete`` is True if the strategy's last prompt held the full episode; else its context was
    too short, and it dropped old steps. ``unlisted`` counts actions that were legal, but not among
    those listed: a constrained model could not have chosen them.
    """

    def __init__(
        self, actor: str, cls: type[Strategy], settings: StrategySettings, tools: Mapping[str, Any]
    ) -> None:
        self.actor, self._model = actor, DictatedModel()
        self.prompts: list[list[Message]] = []
        self.answers: list[str] = []
        self.users: list[str] = []
        self.complete, self.unlisted = True, 0
        toolkit = Toolkit(models={"main": self._model}, note=self._note, **tools)
        self.strategy = cls(settings, toolkit)

    def _note(self, kind: str, **details: Any) -> None:
        if kind == HISTORY_DROPPED:
            self.complete = False

    async def take(self, game: Game, action: Action, thought: str = "") -> Feedback:
        """Take an action as the strategy would have. Raises ``Unfit``."""
        observation, space = game.observation(self.actor), game.space(self.actor)
        if action not in space:
            raise Unfit("not legal when replayed")
        text = self.strategy.answer(action, observation, space, thought)
        self._model.calls = [ModelCall("main", "", Completion((text,), ("stop",)))]
        try:
            decided = await self.strategy.act(observation, space)
        except UsageError as error:
            raise Unfit(str(error)) from None
        if not isinstance(decided, Decision) or decided.action != action:
            raise Unfit("parses to another action")
        if not self._model.calls:  # else the dataset gave the step away
            prompt = self._model.prompts[-1]
            if isinstance(prompt, str):
                raise Unfit("asked without messages")
            self.prompts.append(list(prompt))
            self.answers.append(text)
            listed = action in list(space.listed) or action.name in space.open_verbs
            self.unlisted += not listed
        _, feedback = game.carry_out(self.actor, decided)
        self.strategy.on_feedback(decided, feedback)
        if len(self.users) < len(self.answers):
            # the task stands before the first observation
            first = not self.users
            self.users.append(self.prompts[-1][-1].content if first else self.strategy.turns[-1][0])
        return feedback

    def lines(self, what: Export) -> list[dict[str, Any]]:
        """The whole conversation, nothing dropped, as one line; or each prompt as it was asked,
        with its answer."""
        about = {"actor": self.actor, "strategy": what.strategy, "steps": len(self.answers)}
        answers = [{"role": "assistant", "content": answer} for answer in self.answers]
        prompts = [[{"role": m.role, "content": m.content} for m in p] for p in self.prompts]
        if what.form == "chat":
            *chat, _ = prompts[0]
            for text, answer in zip(self.users, answers, strict=True):
                chat += [{"role": "user", "content": text}, answer]
            return [{"messages": chat, **about, "whole": self.complete}]
        return [
            {"prompt": prompt, "completion": [answer], **about, "step": number}
            for number, (prompt, answer) in enumerate(zip(prompts, answers, strict=True), 1)
        ]


async def _replay(
    task: Task,
    trajectory: Trajectory,
    dataset: Dataset,
    cls: type[Strategy],
    settings: StrategySettings,
    tools: Mapping[str, Any],
    thoughts: bool,
) -> list[_Player]:
    """Each actor's prompts and answers, those who were asked nothing left out.

    With ``thoughts`` an answer holds the recorded thought, if any. Answers that were rejected in
    the run changed nothing, and are left out. Raises ``Unfit`` where the world does not answer as
    it did then, or the strategy does not take the action.
    """
    world = with_answerer(dataset.world(task.episode), recorded_answers(trajectory))
    game = Game(world, task.episode)
    players = {}
    for actor in world.actors:
        own = {
            "perceiver": dataset.perceiver(),
            "rng": random.Random(f"{task.episode.id}/{actor}"),
            "demonstrations": demonstrations(dataset),
        }
        players[actor] = _Player(actor, cls, settings, {**tools, **own})
    for player in players.values():
        await player.strategy.begin(task.episode)
    for step in trajectory.steps:
        if isinstance(step.decision, Decision):
            thought = step.decision.thought if thoughts else ""
            feedback = await players[step.actor].take(game, step.decision.action, thought)
            if feedback.status != step.feedback.status:
                raise Unfit("answered otherwise when replayed")
    return [player for player in players.values() if player.prompts]


# Finished runs as a dataset in the Hugging Face layout: tables, and a card that describes them.
#
#     wayword export runs/gold --format hub --out gold-dataset --parquet
#
# ``datasets.load_dataset("gold-dataset", "chat")`` opens a table: JSON lines, and pictures as files
# that the table names; with ``parquet`` Parquet, written by duckdb, pictures inside.
#
# Source: Hugging Face hub documentation, "Manual configuration" of a dataset repository's card.

TABLES = ("chat", "completion", "steps", "trajectory")
ABOUT = {
    "chat": "an episode of one actor as messages: what it would be asked, and the answers",
    "completion": "a decision: the whole prompt, and the answer",
    "steps": "a step as it happened: action, thought, result",
    "trajectory": "a step with the picture of what the actor faced before it",
}
PICTURED = {
    "episode": ("VARCHAR", "string"),
    "run": ("VARCHAR", "string"),
    "step": ("BIGINT", "int64"),
    "actor": ("VARCHAR", "string"),
    "instruction": ("VARCHAR", "string"),
    "action": ("VARCHAR", "string"),
    "thought": ("VARCHAR", "string"),
    "success": ("BOOLEAN", "bool"),
    "image": ("VARCHAR", "image"),
}
"""Columns of ``trajectory``: their types for duckdb and for ``datasets``."""
WIDTH = 90.0
"""Degrees that a picture is wide and high, where it is cut out of a larger one."""


def publish(
    runs: Sequence[Path],
    out: Path,
    what: Export,
    parquet: bool = False,
    on_episode: OnEpisode | None = None,
) -> Card:
    """Write the tables and ``README.md`` into the folder ``out``, which must be new or empty.

    Raises as :func:`wayword.runs.export.export` does, and ``UsageError`` where Parquet is asked for
    and duckdb is not there.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise RecordingError(f"{out}: is not empty; give a new folder")
    duckdb = None
    if parquet:
        with needing("Parquet is written by duckdb", "parquet"):
            duckdb = import_module("duckdb")
    paths = {name: out / "data" / f"{name}.jsonl" for name in TABLES}
    card = export(runs, paths["chat"], replace(what, form="chat"), on_episode)
    export(runs, paths["completion"], replace(what, form="steps"))
    opened = [RunFolder.read(path) for path in runs]
    _write(paths["steps"], _steps(opened, what))
    _write(paths["trajectory"], _pictured(opened, what, out / "images"))
    rows = {name: path.read_bytes().count(b"\n") for name, path in paths.items()}
    for name, path in paths.items():
        path.with_name(f"{path.name}.card.json").unlink(missing_ok=True)
        if name == "trajectory" and not rows[name]:
            path.unlink()
        elif duckdb is not None and rows[name]:
            _pack(duckdb, path, out / "images" if name == "trajectory" else None)
    suffix = "parquet" if parquet else "jsonl"
    (out / "README.md").write_text(card_text(opened, card, rows, suffix), encoding="utf-8")
    return card


def _write(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _pack(duckdb: Any, path: Path, images: Path | None) -> None:
    """A table as Parquet in place of JSON lines; its pictures go in as Hugging Face's library has
    them (bytes and path), and the folder of ``images`` goes."""

    def quoted(name: Path) -> str:
        return "'" + str(name).replace("'", "''") + "'"

    source = f"read_json({quoted(path)}, format='newline_delimited', maximum_object_size=100000000"
    table = f"SELECT * FROM {source})"
    if images is not None:
        columns = ", ".join(f"{name}: '{kind}'" for name, (kind, _) in PICTURED.items())
        table = (
            "SELECT step.* REPLACE ({'bytes': file.content, 'path': step.image} AS image) "
            f"FROM {source}, columns={{{columns}}}) step "
            f"JOIN read_blob({quoted(images / '*')}) file "
            "ON parse_filename(file.filename) = parse_filename(step.image) ORDER BY step.image"
        )
    duckdb.sql(f"COPY ({table}) TO {quoted(path.with_suffix('.parquet'))} (FORMAT parquet)")
    path.unlink()
    if images is not None:
        shutil.rmtree(images)


def card_text(runs: Sequence[RecordedRun], card: Card, rows: dict[str, int], suffix: str) -> str:
    """The card: what the hub reads at the top, then what a person should know."""
    configs = [
        f"- config_name: {name}\n  data_files:\n  - split: train\n    path: data/{name}.{suffix}"
        for name in TABLES
        if rows[name]
    ]
    played = []
    for run in runs:
        identity = run.config["identity"]
        checksum = str(identity.get("data_checksum", ""))[:8] or "generated"
        cells = (run.path.name, cast_of(identity), identity["dataset"], checksum)
        played.append(f"| {' | '.join(str(cell).replace('|', '/') for cell in cells)} |")
    features = []
    if suffix == "parquet" and rows["trajectory"]:  # JSON has no pictures
        features = ["dataset_info:\n- config_name: trajectory\n  features:"]
        features += [f"  - name: {name}\n    dtype: {kind}" for name, (_, kind) in PICTURED.items()]
    lines = [
        "---\nlanguage:\n- en\ntags:\n- wayword\n- embodied\n- navigation",
        "configs:",
        *configs,
        *features,
        "---\n",
        f"# {', '.join(card.splits)}, played in Wayword {card.wayword}\n",
        "| Table | Rows | A row is |\n| --- | ---: | --- |",
        *(f"| `{name}` | {rows[name]:,} | {ABOUT[name]} |" for name in TABLES if rows[name]),
        "",
        f"Episodes: {card.episodes:,}, decisions: {card.decisions:,}. "
        f"Left out: {card.left_out or 'none'}.",
        f"Prompts and answers are those of the strategy `{card.strategy}`.\n",
        "| Run | Agent | Split | Data |\n| --- | --- | --- | --- |",
        *played,
        "",
        *(f"- {line}" for line in card.notices),
        "\nPublished data keeps its own terms: see the datasets page of Wayword's documentation.",
    ]
    return "\n".join(lines) + "\n"


def _steps(runs: Sequence[RecordedRun], what: Export) -> Iterator[dict[str, Any]]:
    for run in runs:
        for step, about in _chosen_steps(run, what):
            yield {**about, **row_of(step)}


def _pictured(runs: Sequence[RecordedRun], what: Export, images: Path) -> Iterator[dict[str, Any]]:
    """Steps with the picture of what the actor had before it: its own camera's, else one from
    where it stood. Each picture is written into the folder ``images`` first."""
    count = 0
    for run in runs:
        dataset = dataset_of(run, what.data)
        camera = dataset.perceiver()
        if camera is not None and "picture" not in camera.capabilities:
            camera = None
        tasks = of_ids(dataset.tasks, set(run.index.ids()))
        for step, about in _chosen_steps(run, what):
            if (task := tasks.get(about["episode"])) is None:
                continue
            observation = step.observation
            if not isinstance(observation, Mapping):
                continue  # never: records hold mappings
            content, place = observation.get("image"), observation.get(dataset.family.place)
            if isinstance(content, bytes) and content:
                png = content.startswith(b"\x89PNG")
                picture = Image(content, "image/png" if png else "image/jpeg")
            elif camera is not None and place is not None:
                heading = float(observation.get("heading", 0.0))
                elevation = float(observation.get("elevation", 0.0))
                scene = task.episode.scene
                picture = camera.picture(scene, str(place), heading, WIDTH, elevation)
            else:
                continue
            count += 1
            images.mkdir(exist_ok=True)
            name = f"{count:08d}.{'png' if picture.media_type == 'image/png' else 'jpg'}"
            (images / name).write_bytes(picture.data)
            row = {
                **about,
                "instruction": instruction(task.episode.for_actor(step.actor), step.actor),
                **row_of(step),
                "image": f"images/{name}",
            }
            yield {key: row[key] for key in PICTURED}


def _chosen_steps(run: RecordedRun, what: Export) -> Iterator[tuple[Step, dict[str, Any]]]:
    """The steps of the episodes and actors to export, each with its episode and number."""
    success = str(run.config.get("success", "sr"))
    for record in run.records():
        solved = record.scores.get(success, 0.0) > 0.5
        if not (solved or what.everything):
            continue
        for number, step in enumerate(record.trajectory.steps, 1):
            if step.actor in (what.actors or [step.actor]):
                about = {"episode": record.episode_id, "run": run.path.name}
                yield step, {**about, "step": number, "success": solved}


def row_of(step: Step) -> dict[str, Any]:
    """A step as a row of a table."""
    decision = step.decision
    rejected = isinstance(decision, Rejection)
    return {
        "actor": step.actor,
        "action": "" if isinstance(decision, Rejection) else str(decision.action),
        "thought": decision.thought,
        "rejected": rejected,
        "rejection": decision.reason if isinstance(decision, Rejection) else "",
        "status": step.feedback.status,
        "observation": json.dumps(plain(step.observation), ensure_ascii=False),
        "feedback": json.dumps(plain(dict(step.feedback.details)), ensure_ascii=False),
        "pose": json.dumps(plain(dict(step.pose)), ensure_ascii=False),
        "seconds": step.seconds,
    }
