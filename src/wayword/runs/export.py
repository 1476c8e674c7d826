"""Finished episodes as training data: a strategy's prompts, answered with the recorded actions.

Each episode is replayed in its world by a strategy whose model answers with the recorded actions.
The prompts are therefore exactly those that the strategy would have sent. An answer contains what a
replay can provide: the action and, if the recipe requests it, the true state. Thoughts and plans
are included only if the run recorded them and ``thoughts`` is set. Of a run with pictures, prompts
have them too, as files in the folder ``NAME.images`` next to ``NAME.jsonl``.

Source: LangSuitE (Jia et al. 2024), section 3.3, "Gold Trajectories Generation".
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from importlib import import_module
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from wayword.agents.person import with_answerer
from wayword.agents.strategies.briefing import instruction
from wayword.agents.strategies.strategy import Strategy, StrategySettings
from wayword.core import registry
from wayword.core.action import STOP, Action, Decision, Rejection
from wayword.core.agent import Shared, Toolkit
from wayword.core.blocking import blocking
from wayword.core.dataset import Dataset, Task, of_ids
from wayword.core.episode import JsonObject
from wayword.core.errors import RecordingError, UsageError, needing
from wayword.core.files import make_parent
from wayword.core.game import Game
from wayword.core.metric import is_solved
from wayword.core.model import Completion, Image, Message
from wayword.core.recording import DictatedModel
from wayword.core.sight import Eyes
from wayword.core.trajectory import HISTORY_DROPPED, ModelCall, Step, Trajectory
from wayword.core.visible import escaped
from wayword.core.world import Feedback
from wayword.runs.codec import dump
from wayword.runs.config import success_of
from wayword.runs.demonstrations import demonstrations
from wayword.runs.identity import cast_of
from wayword.runs.opening import dataset_of
from wayword.runs.pictures import PictureFolder
from wayword.runs.record import EpisodeRecord, RecordedRun, RunFolder
from wayword.runs.verify import recorded_answers
from wayword.settings import make

Format = Literal["chat", "steps"]
# Of written files. A model's answer may end in half a surrogate pair, which JSON can escape.
_ENCODING: Any = {"encoding": "utf-8", "errors": "backslashreplace"}
OnEpisode = Callable[[int, int], None]
"""Called first and after each episode with the number of processed episodes and their total."""


@dataclass(frozen=True)
class Export:
    """Options of an export.

    ``strategy`` is the agent whose prompts are written, with its ``settings``;
    ``actors`` restricts the export to some actors. ``everything`` includes episodes
    without success; ``thoughts`` includes recorded thoughts. ``trusted`` are the files
    named by ``--with``.
    """

    strategy: str = "act"
    form: Format = "chat"
    settings: Mapping[str, Any] = field(default_factory=dict)
    actors: Sequence[str] = ()
    everything: bool = False
    data: Path | None = None
    thoughts: bool = False
    trusted: Sequence[Path] = ()


EMPTY_FILES = {
    "sft.jsonl": "no outcome was good; --all includes every outcome",
    "kto.jsonl": "the runs have no calls of these roles and actors",
    "dpo.jsonl": "no prompt has two answers with different outcomes; export several runs of the "
    "same episodes",
}
"""Files of an export of calls, and why they may have no rows."""


@dataclass
class Card:
    """Summary of an export: its content, and what was left out and why."""

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
    cut_off: int = 0  # episodes that ended at the limit of steps
    pictures: int = 0
    files: dict[str, dict[str, int]] = field(default_factory=dict)
    unlisted: int = 0
    omitted: dict[str, int] = field(default_factory=dict)
    missing_fields: list[str] = field(default_factory=list)
    empty_files: list[str] = field(default_factory=list)
    wayword: str = field(default_factory=lambda: version("wayword"))

    def add(self, lines: Sequence[str], ended: str | None) -> None:
        """Count the lines of an episode, and how it ended; one without lines is not counted."""
        if not lines:
            return
        self.lines += len(lines)
        self.characters += sum(map(len, lines))
        self.episodes += 1
        if ended == "step_limit":
            self.cut_off += 1

    def omit(self, cause: str) -> None:
        """Count a left-out episode or line by its cause."""
        self.omitted[cause] = self.omitted.get(cause, 0) + 1

    @property
    def left_out(self) -> str:
        """Counts and causes of omissions; empty if there are none."""
        return ", ".join(
            f"{count} {cause}" for cause, count in sorted(self.omitted.items())
        )

    def why_empty(self) -> str:
        """Return the reason why an export has no lines, with the way out if there is one."""
        if not self.omitted:
            return "the runs have no finished episodes"
        reason = f"left out: {self.left_out}"
        if "without success" in self.omitted:
            reason += "; --all includes episodes without success"
        return reason

    def describe(self, run: RecordedRun) -> dict[str, str]:
        """Add a run to the card, and return the run's columns of each line."""
        split = str(run.config["identity"]["dataset"])
        self.runs.append(run.path.name)
        if split not in self.splits:
            self.splits.append(split)
        return {
            "split": split,
            "run": run.path.name,
            "agent": cast_of(run.config["identity"]),
        }

    @property
    def line(self) -> str:
        """Summary for users, in one line."""
        lines = f"{self.lines:,} lines, {self.episodes:,} episodes, {self.decisions:,} decisions"
        if "kto.jsonl" in self.files:
            lines = (
                f"{self.lines:,} lines of {self.episodes:,} episodes in sft.jsonl, "
                f"{self.decisions:,} in kto.jsonl"
            )
        if self.pictures:
            lines += f", {self.pictures:,} pictures"
        return f"{lines} from {', '.join(self.splits)}; left out: {self.left_out or 'none'}"

    @property
    def notices(self) -> list[str]:
        """Warnings to read before training on the data."""
        lines = [
            f"{split} is not a training split: do not test on it afterwards"
            for split in self.splits
            if "train" not in split.rpartition(":")[2]
        ]
        if self.cut_off:
            lines.append(
                f"{self.cut_off:,} of {self.episodes:,} episodes ended at the limit of steps: "
                "their lines teach no stop; give the expert's plan an end, or raise --max-steps "
                "and play them again"
            )
        lines += [f"{name} is empty: {EMPTY_FILES[name]}" for name in self.empty_files]
        if self.missing_fields:
            fields = ", ".join(self.missing_fields)
            lines.append(
                f"answers lack {fields}, which {self.strategy} requests but the runs did not "
                "record; a model learns to omit them (--as act requests only actions)"
            )
        if self.unlisted:
            lines.append(
                f"{self.unlisted} legal actions were not in the list shown to the agent"
            )
        if self.pictures and self.form == "chat" and self.strategy != "calls":
            lines.append(
                "conversations keep the pictures of every step: play with picture_history as "
                "long, or export with --format steps, whose prompts are as they were sent"
            )
        if self.longer_than_context:
            lines.append(
                f"{self.longer_than_context} conversations exceed the strategy's context, so it "
                "would have dropped their oldest steps (field whole is false)"
            )
        return lines


def require_new(out: Path) -> None:
    """Raise ``RecordingError`` unless the folder is missing or empty."""
    if out.is_file() or (out.is_dir() and any(out.iterdir())):
        raise RecordingError(f"{out}: is not empty; give a new folder")


def export(
    runs: Sequence[Path],
    out: Path,
    options: Export,
    on_episode: OnEpisode | None = None,
) -> Card:
    """Write the episodes of run folders as JSON Lines, and their card as ``OUT.card.json``.

    The file is written completely or not at all; the same run folders give the same
    bytes. An earlier export is replaced, unless there is nothing to export; another file is not.
    Raises ``UsageError`` for an agent that is not a strategy and for data that
    differ from the run's, ``RecordingError`` for a path that is not a run folder.
    """
    cls = registry.load("agent", options.strategy)
    if not issubclass(cls, Strategy):
        remedy = "use act, react, react_emmem or a custom subclass of Strategy"
        raise UsageError(f"--as {options.strategy}: not a strategy; {remedy}")
    card_path = out.with_name(f"{out.name}.card.json")
    if out.exists() and not card_path.exists():
        raise RecordingError(f"{out}: exists and is no export; give another --out")
    settings: StrategySettings = make(cls.Settings, options.settings, options.strategy)
    strategy = partial(cls, settings)
    opened = [RunFolder.read(path) for path in runs]
    for run in opened:
        if _has_pictures(run) and not cls.has_eyes:
            raise UsageError(
                f"--as {options.strategy}: plays in words alone, and {run.path} has pictures; use "
                "act, react or reflexion"
            )
    # Fields of an answer that a replay cannot know.
    fields = strategy(Toolkit()).unknown
    missing = [name for name in fields if "." in name or not options.thoughts]
    card = Card(
        options.strategy, options.form, asdict(settings), missing_fields=missing
    )
    folder = PictureFolder(out.with_name(f"{out.stem}.images"))
    # Written to another file first, so that the file is complete or missing.
    new = out.with_name(f".{out.name}.new")
    try:
        make_parent(out)
        with new.open("w", newline="\n", **_ENCODING) as file:
            for lines in _lines(opened, options, strategy, card, folder, on_episode):
                file.writelines(lines)
        card.pictures = folder.count
        if card.lines or not out.exists():
            os.replace(new, out)
            text = json.dumps(asdict(card), indent=2, ensure_ascii=False)
            card_path.write_text(escaped(text) + "\n", **_ENCODING)
    except OSError as error:
        raise RecordingError(f"{out}: cannot be written ({error.strerror})") from error
    finally:
        with suppress(OSError):
            new.unlink(missing_ok=True)
    return card


def records(
    runs: Sequence[RecordedRun], on_episode: OnEpisode | None
) -> Iterator[tuple[RecordedRun, EpisodeRecord]]:
    """Iterate over the episodes of several runs, and report the progress after each."""
    total = sum(len(run.index) for run in runs)
    done = 0
    if on_episode:
        on_episode(done, total)
    for run in runs:
        for record in run.records():
            yield run, record
            done += 1
            if on_episode:
                on_episode(done, total)


def _lines(
    runs: Sequence[RecordedRun],
    options: Export,
    strategy: MakeStrategy,
    card: Card,
    folder: PictureFolder,
    on_episode: OnEpisode | None,
) -> Iterator[list[str]]:
    """Yield the JSON lines of each episode that is not left out, in the order of the runs.

    Counts what is written and what is left out on the card. An episode without success,
    without its task or with a replay that differs is left out; so are lines equal to
    earlier ones and, of several actors, those that only stopped. Pictures are written to the
    ``folder``.
    """
    # Lines that were written already, from any of the runs; their digests take less memory.
    digests: set[bytes] = set()
    shared = Shared()
    # All datasets are opened first, so that a missing one is found before any replay.
    data = {}
    for run in runs:
        dataset = dataset_of(run, options.data, options.trusted)
        steps = run.config["identity"].get("max_steps") or 0
        data[run] = (
            dataset,
            of_ids(dataset.tasks, run.index.ids()),
            card.describe(run),
            steps,
        )
    for run, record in records(runs, on_episode):
        dataset, tasks, about, steps = data[run]
        task = tasks.get(record.episode_id)
        trajectory = record.trajectory
        success = is_solved(record.scores.get(dataset.family.success))
        try:
            if not (options.everything or success):
                raise Omitted("without success")
            if task is None:
                raise Omitted("not in the dataset")
            tools = {"shared": shared, "max_steps": steps}
            replay = _replay(
                task, trajectory, dataset, strategy, tools, options.thoughts
            )
            players = blocking(replay)
            if options.actors:
                players = [each for each in players if each.actor in options.actors]
            if not players:
                raise Omitted("without a decision")
        except Omitted as reason:
            card.omit(str(reason))
            continue
        # Columns that all lines of an episode share.
        ending = {"family": dataset.family.name, **about, "success": success}
        new = []
        for player in players:
            # Training on it would teach an actor to leave the work to the others.
            only_stopped = set(trajectory.actions(player.actor)) == {STOP}
            if len(trajectory.start) > 1 and only_stopped:
                card.omit("actor that only stopped")
                continue
            card.decisions += len(player.answers)
            if not player.complete:
                card.longer_than_context += 1
            card.unlisted += player.unlisted
            # Compared without the episode's columns, which differ for equal conversations.
            for text in player.lines(options, folder):
                digest = hashlib.sha256(json.dumps(text).encode()).digest()
                if digest in digests:
                    card.omit("duplicate")
                else:
                    line = {**text, "episode": record.episode_id, **ending}
                    new.append(escaped(json.dumps(line, ensure_ascii=False)) + "\n")
                digests.add(digest)
        card.add(new, trajectory.ended)
        yield new


# Replay of a recorded episode by strategies whose answers are given.

MakeStrategy = Callable[[Toolkit], Strategy]


class Omitted(Exception):
    """The reason, in a few words, why an episode is left out."""


class _Player:
    """An actor's strategy, the model that gives its answers, and all prompts and answers.

    ``prompts``, ``answers`` and ``users`` have an item for each call of the model;
    ``users`` are the messages that a conversation adds before each answer. ``complete``
    is False if the strategy dropped old steps. ``unlisted`` counts legal actions
    outside the listed ones, which a constrained model could not have chosen.
    """

    def __init__(
        self, actor: str, strategy: MakeStrategy, tools: Mapping[str, Any]
    ) -> None:
        self.actor = actor
        self._model = DictatedModel()
        self.prompts: list[list[Message]] = []
        self.answers: list[str] = []
        self.users: list[Message] = []
        self.complete = True
        self.unlisted = 0
        self.strategy = strategy(
            Toolkit({"main": self._model}, note=self._note, **tools)
        )

    def _note(self, kind: str, **details: Any) -> None:
        """Take a note of the strategy: one on dropped history makes the conversation incomplete."""
        if kind == HISTORY_DROPPED:
            self.complete = False

    async def take(self, game: Game, action: Action, thought: str = "") -> Feedback:
        """Let the strategy take an action, and return the world's feedback.

        The model answers with the words that the strategy itself would use for the
        action. Raises ``Omitted`` if the strategy cannot take it, or does not call a
        chat model.
        """
        observation = game.observation(self.actor)
        space = game.space(self.actor)
        if action not in space:
            raise Omitted("with an action that is illegal when replayed")
        text = self.strategy.answer(action, observation, space, thought)
        self._model.calls = [ModelCall("main", "", Completion((text,), ("stop",)))]
        try:
            decided = await self.strategy.act(observation, space)
        except UsageError as error:
            raise Omitted(str(error)) from None
        if not isinstance(decided, Decision) or decided.action != action:
            raise Omitted("with an answer that is parsed as another action")
        if not self._model.calls:  # the strategy has called the model
            prompt = self._model.prompts[-1]
            if isinstance(prompt, str):
                raise Omitted("without chat messages")
            self.prompts.append(list(prompt))
            self.answers.append(text)
            listed = action in list(space.listed) or action.name in space.open_verbs
            if not listed:
                self.unlisted += 1
        _, feedback = game.carry_out(self.actor, decided)
        self.strategy.on_feedback(decided, feedback)
        if len(self.users) < len(self.answers):
            asked = self.prompts[-1][-1]
            # The first message also contains the task, and one with pictures lists them.
            if self.users and not asked.images:
                asked = Message("user", self.strategy.turns[-1][0])
            self.users.append(asked)
        return feedback

    def lines(self, options: Export, folder: PictureFolder) -> list[dict[str, Any]]:
        """Return the full conversation as a single line, or each prompt with its answer.

        Columns of ``chat``: ``messages``, ``actor``, ``strategy``, ``steps``, ``whole``. Of the
        other form: ``prompt``, ``completion``, ``actor``, ``strategy``, ``steps``, ``step``. Both
        have ``images`` if there are pictures, which are written to the ``folder``.
        """
        about = {
            "actor": self.actor,
            "strategy": options.strategy,
            # Calls of the model: a strategy may take several actions after one.
            "steps": len(self.answers),
        }
        answers = [Message("assistant", answer) for answer in self.answers]
        # A conversation has the task once, and each observation as one message.
        if options.form == "chat":
            # The first prompt ends with the first message, which the loop adds.
            *chat, _ = self.prompts[0]
            for message, answer in zip(self.users, answers, strict=True):
                chat += [message, answer]
            messages, image_columns = folder.exported(chat)
            row = {"messages": messages, **image_columns, **about}
            return [{**row, "whole": self.complete}]
        rows = []
        for number, (prompt, answer) in enumerate(
            zip(self.prompts, answers, strict=True), 1
        ):
            messages, image_columns = folder.exported([*prompt, answer])
            *asked, last = messages
            row = {"prompt": asked, "completion": [last], **image_columns}
            rows.append({**row, **about, "step": number})
        return rows


def _has_pictures(run: RecordedRun) -> bool:
    """True if the agents of a run saw pictures."""
    return bool(run.config["identity"].get("eyes"))


async def _replay(
    task: Task,
    trajectory: Trajectory,
    dataset: Dataset,
    strategy: MakeStrategy,
    tools: Mapping[str, Any],
    thoughts: bool,
) -> list[_Player]:
    """Replay an episode, and return the players that called a model.

    Rejected answers changed nothing and are skipped. Raises ``Omitted`` if the world's
    feedback differs from the recorded one, or the strategy cannot take an action.
    """
    world = with_answerer(dataset.world(task.episode), recorded_answers(trajectory))
    game = Game(world, task.episode)
    painter = dataset.painter()
    players = {}
    for actor in world.actors:
        # Seeded by episode and actor, so that every export has the same prompts.
        rng = random.Random(f"{task.episode.id}/{actor}")
        sources: dict[str, Any] = {
            "perceiver": dataset.perceiver(),
            "demonstrations": demonstrations(dataset),
            "needs_stop": dataset.needs_stop,
        }
        if dataset.eyes is not None and painter is not None:
            sources["eyes"] = Eyes(dataset.eyes, painter, world, actor)
        players[actor] = _Player(actor, strategy, {**tools, **sources, "rng": rng})
    # The recorded actions are carried out again, by strategies that are asked for them.
    for player in players.values():
        await player.strategy.begin(task.episode)
    for step in trajectory.steps:
        if step.actor not in players:
            raise Omitted("with an actor that the world does not have")
        if isinstance(step.decision, Decision):
            thought = ""
            if thoughts:
                thought = step.decision.thought
            player = players[step.actor]
            feedback = await player.take(game, step.decision.action, thought)
            if feedback.status != step.feedback.status:
                raise Omitted("with other feedback when replayed")
    return [player for player in players.values() if player.prompts]


# Finished runs as a dataset in the Hugging Face layout: tables and a dataset card.
#
#     wayword export runs/gold --format hub --out gold-dataset --parquet
#
# ``datasets.load_dataset("gold-dataset", "chat")`` opens a table. Tables are JSON Lines that refer
# to picture files; with ``parquet``, they are Parquet files that contain the pictures.
#
# Source: Hugging Face hub documentation, "Manual configuration" of a dataset repository's card.

TABLES = {
    "chat": "an actor's episode as a conversation: prompts and answers",
    "completion": "a decision: the full prompt and the answer",
    "steps": "a recorded step: action, thought, result",
    "trajectory": "a step with a picture of the actor's view before it",
}
"""Tables, and what each of their rows contains."""
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
"""Columns of ``trajectory`` with their types in duckdb and ``datasets``."""
# Types that duckdb finds in JSON, which has none of them; names of fields are in quotes
_GUESSED = re.compile(
    r"(?<!\")\b(?:DATE|TIME|TIMESTAMP\w*|UUID)\b(?: WITH TIME ZONE)?(?!\")"
)
# Field of view, in degrees, of a picture that is cut out of a panorama
VIEW_WIDTH = 90.0


def publish(
    runs: Sequence[Path],
    out: Path,
    options: Export,
    parquet: bool = False,
    on_episode: OnEpisode | None = None,
) -> Card:
    """Write the tables and ``README.md`` to the folder ``out``, which must be new or empty.

    Raises the errors of :func:`export`, and ``UsageError`` if ``parquet`` is set
    without duckdb.
    """
    opened = [RunFolder.read(path) for path in runs]
    require_new(out)
    for run in opened:
        if _has_pictures(run):
            raise UsageError(
                f"{run.path}: its conversations have pictures, which this layout does not hold; "
                "use --format chat or --format steps"
            )
    duckdb = None
    if parquet:
        with needing("Parquet is written by duckdb", "parquet"):
            duckdb = import_module("duckdb")
    paths = {name: out / "data" / f"{name}.jsonl" for name in TABLES}
    # Two tables of prompts, of which ``completion`` has the form "steps", and two of steps.
    card = export(runs, paths["chat"], replace(options, form="chat"), on_episode)
    export(runs, paths["completion"], replace(options, form="steps"))
    steps = chain.from_iterable(_step_rows(run, options) for run in opened)
    tables = {"steps": steps, "trajectory": _pictured(opened, options, out / "images")}
    for name, table in tables.items():
        with paths[name].open("w", newline="\n", **_ENCODING) as file:
            file.writelines(
                escaped(json.dumps(row, ensure_ascii=False)) + "\n" for row in table
            )
    # Empty tables have no file of pictures, and no Parquet file.
    rows = {name: path.read_bytes().count(b"\n") for name, path in paths.items()}
    for name, path in paths.items():
        path.with_name(f"{path.name}.card.json").unlink(missing_ok=True)
        if name == "trajectory" and not rows[name]:
            path.unlink()
        elif duckdb is not None and rows[name]:
            images = None
            if name == "trajectory":
                images = out / "images"
            _pack(duckdb, path, images)
    suffix = "jsonl"
    if parquet:
        suffix = "parquet"
    (out / "README.md").write_text(card_text(opened, card, rows, suffix), **_ENCODING)
    return card


def _pack(duckdb: Any, path: Path, images: Path | None) -> None:
    """Convert a table to Parquet, and delete the JSON Lines.

    The pictures in ``images`` are moved into it, in the form that Hugging Face's
    library expects: bytes and path.
    """

    def quoted(name: Path) -> str:
        return "'" + str(name).replace("'", "''") + "'"

    # duckdb reads JSON Lines and writes Parquet; pictures are joined by their file names.
    source = f"read_json({quoted(path)}, format='newline_delimited', maximum_object_size=100000000"
    if images is not None:
        kinds = {name: kind for name, (kind, _) in PICTURED.items()}
    else:
        # Texts stay texts, whatever they look like: a run may be named after a day.
        found = duckdb.sql(f"DESCRIBE SELECT * FROM {source})").fetchall()
        kinds = {name: _GUESSED.sub("VARCHAR", kind) for name, kind, *_ in found}
    columns = ", ".join(f"'{name}': '{kind}'" for name, kind in kinds.items())
    source += f", columns={{{columns}}}"
    table = f"SELECT * FROM {source})"
    if images is not None:
        table = (
            "SELECT step.* REPLACE ({'bytes': file.content, 'path': step.image} AS image) "
            f"FROM {source}) step "
            f"JOIN read_blob({quoted(images / '*')}) file "
            "ON parse_filename(file.filename) = parse_filename(step.image) ORDER BY step.image"
        )
    duckdb.sql(
        f"COPY ({table}) TO {quoted(path.with_suffix('.parquet'))} (FORMAT parquet)"
    )
    path.unlink()
    if images is not None:
        shutil.rmtree(images)


def card_text(
    runs: Sequence[RecordedRun], card: Card, rows: dict[str, int], suffix: str
) -> str:
    """Return the dataset card: metadata for the hub in YAML, then a description in Markdown.

    ``rows`` are the numbers of rows by table, ``suffix`` the ending of its files.
    """
    configs = [
        f"- config_name: {name}\n  data_files:\n  - split: train\n    path: data/{name}.{suffix}"
        for name in TABLES
        if rows[name]
    ]
    if suffix == "parquet" and rows["trajectory"]:  # JSON has no pictures
        configs.append("dataset_info:\n- config_name: trajectory\n  features:")
        configs += [
            f"  - name: {name}\n    dtype: {kind}"
            for name, (_, kind) in PICTURED.items()
        ]
    # The runs with the checksums of their data.
    played = []
    for run in runs:
        identity = run.config["identity"]
        checksum = str(identity.get("data_checksum", ""))[:8] or "generated"
        cells = (run.path.name, cast_of(identity), identity["dataset"], checksum)
        played.append(
            f"| {' | '.join(str(cell).replace('|', '/') for cell in cells)} |"
        )
    # YAML for the hub, then Markdown for people.
    lines = [
        "---\nlanguage:\n- en\ntags:\n- wayword\n- embodied\n- navigation",
        "configs:",
        *configs,
        "---\n",
        f"# {', '.join(card.splits)}, played in Wayword {card.wayword}\n",
        "| Table | Rows | A row is |\n| --- | ---: | --- |",
        *(
            f"| `{name}` | {rows[name]:,} | {row} |"
            for name, row in TABLES.items()
            if rows[name]
        ),
        "",
        f"Episodes: {card.episodes:,}, decisions: {card.decisions:,}. "
        f"Left out: {card.left_out or 'none'}.",
        f"Prompts and answers are in the format of the strategy `{card.strategy}`.\n",
        "| Run | Agent | Split | Data |\n| --- | --- | --- | --- |",
        *played,
        "",
        *(f"- {line}" for line in card.notices),
        "\nPublished data keeps its license: see the datasets page of Wayword's documentation.",
    ]
    return "\n".join(lines) + "\n"


def _pictured(
    runs: Sequence[RecordedRun], options: Export, images: Path
) -> Iterator[dict[str, Any]]:
    """Yield steps with a picture of the actor's view, written to the folder ``images``.

    The picture is from the actor's camera, else from the place's panorama,
    ``VIEW_WIDTH`` degrees around its heading. Steps without either are left out.
    """
    count = 0
    for run in runs:
        dataset = dataset_of(run, options.data, options.trusted)
        camera = dataset.perceiver()
        if camera is not None and "picture" not in camera.capabilities:
            camera = None
        tasks = of_ids(dataset.tasks, run.index.ids())
        for step, about in _steps(run, options):
            task = tasks.get(about["episode"])
            observation = step.observation
            if task is None or not isinstance(observation, Mapping):
                continue
            # The actor's camera, if it has one, else a part of the place's panorama.
            content = observation.get("image")
            place = observation.get(dataset.family.place)
            if isinstance(content, bytes) and content:
                picture = Image(content)
                if content.startswith(b"\x89PNG"):
                    picture = Image(content, "image/png")
            elif camera is not None and place is not None:
                heading = float(observation.get("heading", 0.0))
                elevation = float(observation.get("elevation", 0.0))
                scene = task.episode.scene
                picture = camera.picture(
                    scene, str(place), heading, VIEW_WIDTH, elevation
                )
            else:
                continue
            # Pictures are numbered in the order of the rows.
            count += 1
            images.mkdir(exist_ok=True)
            name = f"{count:08d}.jpg"
            if picture.media_type == "image/png":
                name = f"{count:08d}.png"
            (images / name).write_bytes(picture.data)
            row = {
                **about,
                "instruction": instruction(
                    task.episode.for_actor(step.actor), step.actor
                ),
                **row_of(step),
                "image": f"images/{name}",
            }
            yield {key: row[key] for key in PICTURED}


def _steps(run: RecordedRun, options: Export) -> Iterator[tuple[Step, dict[str, Any]]]:
    """Yield the selected steps of a run, each with its episode, run, number and success."""
    metric = success_of(run.config)
    for record in run.records():
        success = is_solved(record.scores.get(metric))
        if not (success or options.everything):
            continue
        for number, step in enumerate(record.trajectory.steps, 1):
            if options.actors and step.actor not in options.actors:
                continue
            about = {
                "episode": record.episode_id,
                "run": run.path.name,
                "step": number,
                "success": success,
            }
            yield step, about


def _step_rows(run: RecordedRun, options: Export) -> Iterator[dict[str, Any]]:
    """Yield the rows of the table ``steps``."""
    for step, about in _steps(run, options):
        yield {**about, **row_of(step)}


def row_of(step: Step) -> JsonObject:
    """Return a step as a row of a table: texts, numbers, and JSON as text."""
    decision = step.decision
    action = ""
    rejection = ""
    if isinstance(decision, Rejection):
        rejection = decision.reason
    else:
        action = str(decision.action)
    return {
        "actor": step.actor,
        "action": action,
        "thought": decision.thought,
        "rejected": isinstance(decision, Rejection),
        "rejection": rejection,
        "status": step.feedback.status,
        "observation": dump(step.observation).decode(),
        "feedback": dump(step.feedback.details).decode(),
        "pose": dump(step.pose).decode(),
        "seconds": step.seconds,
    }
