"""Finished episodes as training data: a strategy asks, and answers with what was done.

Each episode is replayed in its world while a strategy plays it against a model that is told every
answer. So the prompts are those that the strategy would have asked, byte for byte, and an answer
holds what a replay can know: the action and, where the recipe asks for a state, the true one.
Thoughts and plans are left out, as nobody had them.

Source: LangSuitE (Jia et al. 2024), section 3.3, "Gold Trajectories Generation".
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

from wayword.agents.strategies.strategy import Strategy, StrategySettings, instruction
from wayword.core import registry
from wayword.core.action import STOP, Rejection
from wayword.core.agent import Shared, Toolkit
from wayword.core.dataset import Dataset, Task, of_ids
from wayword.core.errors import RecordingError, UsageError, needing
from wayword.core.model import Image
from wayword.core.perceiver import Perceiver
from wayword.core.trajectory import Step
from wayword.core.world import Family
from wayword.runs.codec import plain
from wayword.runs.plan import cast_of
from wayword.runs.record import EpisodeRecord, RecordedRun, RunFolder
from wayword.runs.replaying import Told, Unfit, dataset_of, retold
from wayword.settings import make

Format = Literal["chat", "steps"]
OnEpisode = Callable[[int, int], None]
"""Told after every episode: how many are done, of how many."""


@runtime_checkable
class HasStrategy(Protocol):
    """An agent's class that is none itself, and talks to models as its ``strategy`` does."""

    strategy: ClassVar[type[Strategy]]


@dataclass(frozen=True, slots=True)
class Export:
    """What to write. ``strategy`` is the agent that would have been asked, with ``settings`` of
    its own; ``actors`` limits the lines to these. Failures are left out unless ``everything``.
    ``thoughts`` are kept where a run has them, as those of models do.
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
        strategy = cls.strategy if isinstance(cls, HasStrategy) else cls
        if not issubclass(strategy, Strategy):
            raise UsageError(
                f"--as {self.strategy}: is no strategy; take act, react or react_emmem, or an "
                "agent of your own that derives from Strategy"
            )
        settings: StrategySettings = make(strategy.Settings, self.settings, self.strategy)
        return strategy, settings


@dataclass(slots=True)
class Card:
    """What an export holds, and what it left out and why."""

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
        """Count what is left out, and why."""
        if count:
            self.omitted[cause] = self.omitted.get(cause, 0) + count

    def why_empty(self) -> str:
        """What became of the episodes, for an export without a line."""
        left = ", ".join(f"{count} {cause}" for cause, count in sorted(self.omitted.items()))
        return f"left out: {left}" if left else "the runs have no finished episode"

    @property
    def line(self) -> str:
        """One line for a person."""
        left = ", ".join(f"{count} {cause}" for cause, count in sorted(self.omitted.items()))
        told = f"{self.lines:,} lines of {self.episodes:,} episodes ({self.decisions:,} decisions)"
        return f"{told} from {', '.join(self.splits)}; left out: {left or 'none'}"

    @property
    def notices(self) -> list[str]:
        """What a person should know before training on it."""
        found = [
            f"{split} is no training split: do not test on it afterwards"
            for split in self.splits
            if "train" not in split.rpartition(":")[2]
        ]
        if self.untold:
            found.append(
                f"answers lack {', '.join(self.untold)}, which {self.strategy} asks for: nobody "
                "had them, and a model learns to leave them out (--as act asks for nothing more)"
            )
        if self.unlisted:
            found.append(f"{self.unlisted} actions were legal, but not among those listed")
        if self.longer_than_context:
            found.append(
                f"{self.longer_than_context} conversations are longer than the strategy's context: "
                "it would have dropped their oldest steps (see the field whole)"
            )
        return found


def export(
    runs: Sequence[Path], out: Path, what: Export, on_episode: OnEpisode | None = None
) -> Card:
    """Write the episodes of run folders as JSON lines, and a card beside them.

    The file appears whole or not at all; ``OUT.card.json`` says what it holds. The same run folders
    give the same bytes. Raises ``UsageError`` for an agent that is no strategy or data that are not
    the run's own, ``RecordingError`` for a folder that is no run.
    """
    cls, settings = what.opened()
    opened = [RunFolder.read(path) for path in runs]
    untold = [name for name in cls(settings, Toolkit()).unknown if "." in name or not what.thoughts]
    card = Card(what.strategy, what.form, asdict(settings), untold=untold)
    total = sum(len(run.scores()) for run in opened)
    beside = out.with_name(f".{out.name}.new")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("w", encoding="utf-8", newline="\n") as file:
            for done, line in enumerate(_lines(opened, what, cls, settings, card), 1):
                file.writelines(line)
                if on_episode:
                    on_episode(done, total)
        os.replace(beside, out)
        text = json.dumps(asdict(card), indent=2, ensure_ascii=False) + "\n"
        out.with_name(f"{out.name}.card.json").write_text(text, encoding="utf-8")
    except OSError as error:
        raise RecordingError(f"{out}: cannot be written ({error.strerror})") from error
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
    return card


def _lines(
    runs: Sequence[RecordedRun],
    what: Export,
    cls: type[Strategy],
    settings: StrategySettings,
    card: Card,
) -> Iterator[list[str]]:
    """The lines of one episode after the other; no lines for one that is left out."""
    seen: set[bytes] = set()
    shared = Shared()
    for run in runs:
        dataset = dataset_of(run, what.data)
        tasks = of_ids(dataset.tasks, {name for name, _ in run.scores()})
        card.runs.append(run.path.name)
        split = str(run.config["identity"]["dataset"])
        card.splits += [] if split in card.splits else [split]
        for record in run.records():
            about = {
                "episode": record.episode_id,
                "split": split,
                "family": dataset.family.name,
                "agent": cast_of(run.config["identity"]),
                "run": run.path.name,
                "success": succeeded(record.scores, dataset.family),
            }
            try:
                told = _told(record, tasks, dataset, what, cls, settings, shared)
            except Unfit as reason:
                card.omit(str(reason))
                yield []
                continue
            working = [one for one in told if not _only_stopped(record, one.actor)]
            card.omit("an actor that only stopped", len(told) - len(working))
            texts = [text for one in working for text in _written(one, what, card)]
            digests = [hashlib.sha256(json.dumps(text).encode()).digest() for text in texts]
            new = [
                json.dumps({**text, **about}, ensure_ascii=False) + "\n"
                for text, digest in zip(texts, digests, strict=True)
                if digest not in seen
            ]
            card.omit("twice", len(texts) - len(new))
            seen.update(digests)
            card.lines += len(new)
            card.episodes += bool(new)
            card.characters += sum(map(len, new))
            yield new


def _told(
    record: EpisodeRecord,
    tasks: Mapping[str, Task],
    dataset: Dataset,
    what: Export,
    cls: type[Strategy],
    settings: StrategySettings,
    shared: Shared,
) -> list[Told]:
    if not (what.everything or succeeded(record.scores, dataset.family)):
        raise Unfit("without success")
    task = tasks.get(record.episode_id)
    if task is None:
        raise Unfit("not in the dataset")
    made = retold(task, record.trajectory, dataset, cls, settings, shared, what.thoughts)
    chosen = [told for told in asyncio.run(made) if told.actor in (what.actors or [told.actor])]
    if not chosen:
        raise Unfit("without a decision")
    return chosen


def _only_stopped(record: EpisodeRecord, actor: str) -> bool:
    """Whether an actor left at once and others did it all: nothing that one should learn from."""
    trajectory = record.trajectory
    return len(trajectory.start) > 1 and set(trajectory.actions(actor)) == {STOP}


def succeeded(scores: Mapping[str, float], family: Family) -> bool:
    """Whether an episode was solved, by its family's metric of success."""
    return scores.get(family.success, 0.0) > 0.5


def _written(told: Told, what: Export, card: Card) -> list[dict[str, Any]]:
    """The lines of one actor, before what is known of the episode is added."""
    card.decisions += len(told.answers)
    card.longer_than_context += not told.whole
    card.unlisted += told.unlisted
    about = {"actor": told.actor, "strategy": what.strategy, "steps": len(told.answers)}
    if what.form == "chat":
        return [{"messages": told.messages(), **about, "whole": told.whole}]
    return [
        {"prompt": prompt, "completion": completion, **about, "step": number}
        for number, (prompt, completion) in enumerate(told.pairs(), 1)
    ]


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
    "steps": "a step as it happened: action, thought, what came of it",
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
        raise RecordingError(f"{out}: holds something already; give a new folder")
    duckdb = None
    if parquet:
        with needing("Parquet is written by duckdb", "parquet"):
            duckdb = import_module("duckdb")
    paths = {name: out / "data" / f"{name}.jsonl" for name in TABLES}
    card = export(runs, paths["chat"], replace(what, form="chat"), on_episode)
    export(runs, paths["completion"], replace(what, form="steps"))
    opened = [RunFolder.read(path) for path in runs]
    _write(paths["steps"], _steps(opened, what))
    _write(paths["trajectory"], _trajectory(opened, what, out / "images"))
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
    source = f"read_json({_quoted(path)}, format='newline_delimited', maximum_object_size=100000000"
    table = f"SELECT * FROM {source})"
    if images is not None:
        columns = ", ".join(f"{name}: '{kind}'" for name, (kind, _) in PICTURED.items())
        table = (
            "SELECT told.* REPLACE ({'bytes': file.content, 'path': told.image} AS image) "
            f"FROM {source}, columns={{{columns}}}) told "
            f"JOIN read_blob({_quoted(images / '*')}) file "
            "ON parse_filename(file.filename) = parse_filename(told.image) ORDER BY told.image"
        )
    duckdb.sql(f"COPY ({table}) TO {_quoted(path.with_suffix('.parquet'))} (FORMAT parquet)")
    path.unlink()
    if images is not None:
        shutil.rmtree(images)


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


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
    left = ", ".join(f"{count} {cause}" for cause, count in sorted(card.omitted.items()))
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
        f"Episodes: {card.episodes:,}, decisions: {card.decisions:,}. Left out: {left or 'none'}.",
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
        for step, about in _turns(run, what):
            yield {**about, **_row(step)}


def _trajectory(
    runs: Sequence[RecordedRun], what: Export, images: Path
) -> Iterator[dict[str, Any]]:
    """Steps with a picture, each written into the folder ``images`` first."""
    count = 0
    for run in runs:
        dataset = dataset_of(run, what.data)
        camera = dataset.perceiver()
        if camera is not None and "picture" not in camera.capabilities:
            camera = None
        tasks = of_ids(dataset.tasks, {name for name, _ in run.scores()})
        for step, about in _turns(run, what):
            task = tasks.get(about["episode"])
            if task is None:
                continue
            picture = _picture(step, task.episode.scene, dataset.family.place, camera)
            if picture is None:
                continue
            count += 1
            images.mkdir(exist_ok=True)
            name = f"{count:08d}.{'png' if picture.media_type == 'image/png' else 'jpg'}"
            (images / name).write_bytes(picture.data)
            row = {
                **about,
                "instruction": instruction(task.episode.as_told(step.actor), step.actor),
                **_row(step),
                "image": f"images/{name}",
            }
            yield {key: row[key] for key in PICTURED}


def _picture(step: Step, scene: str, place: str, camera: Perceiver | None) -> Image | None:
    """What the actor had before it: its own camera's picture, else one from where it stood."""
    seen = step.observation
    own = seen.get("image") if isinstance(seen, Mapping) else getattr(seen, "image", None)
    if isinstance(own, bytes) and own:
        return Image(own, "image/png" if own.startswith(b"\x89PNG") else "image/jpeg")
    told = plain(seen)
    if camera is None or place not in told:
        return None
    heading, elevation = float(told.get("heading", 0.0)), float(told.get("elevation", 0.0))
    return camera.picture(scene, str(told[place]), heading, WIDTH, elevation)


def _turns(run: RecordedRun, what: Export) -> Iterator[tuple[Step, dict[str, Any]]]:
    """The steps of the episodes to be told, and where each belongs."""
    success = str(run.config.get("success", "sr"))
    for record in run.records():
        solved = record.scores.get(success, 0.0) > 0.5
        if not (solved or what.everything):
            continue
        for number, step in enumerate(record.trajectory.steps, 1):
            if step.actor in (what.actors or [step.actor]):
                about = {"episode": record.episode_id, "run": run.path.name}
                yield step, {**about, "step": number, "success": solved}


def _row(step: Step) -> dict[str, Any]:
    decision = step.decision
    refused = isinstance(decision, Rejection)
    return {
        "actor": step.actor,
        "action": "" if isinstance(decision, Rejection) else str(decision.action),
        "thought": decision.thought,
        "rejected": refused,
        "rejection": decision.reason if isinstance(decision, Rejection) else "",
        "status": step.feedback.status,
        "observation": json.dumps(plain(step.observation), ensure_ascii=False),
        "feedback": json.dumps(plain(dict(step.feedback.details)), ensure_ascii=False),
        "pose": json.dumps(plain(dict(step.pose)), ensure_ascii=False),
        "seconds": step.seconds,
    }
