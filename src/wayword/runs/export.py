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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

from wayword.agents.strategies.strategy import Strategy, StrategySettings
from wayword.core import registry
from wayword.core.action import STOP
from wayword.core.agent import Shared, Toolkit
from wayword.core.dataset import Dataset, Task, of_ids
from wayword.core.errors import RecordingError, UsageError
from wayword.core.world import Family
from wayword.runs.config import Checksums
from wayword.runs.plan import Plan, cast_of, open_dataset
from wayword.runs.record import EpisodeRecord, RecordedRun, RunFolder
from wayword.runs.replaying import Told, Unfit, retold
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
            about = _about(run, record, dataset)
            try:
                told = _told(record, tasks, dataset, what, cls, settings, shared)
            except Unfit as reason:
                card.omit(str(reason))
                yield []
                continue
            working = [one for one in told if not _only_stopped(record, one.actor)]
            card.omit("an actor that only stopped", len(told) - len(working))
            texts = [text for one in working for text in _written(one, what, card)]
            new = [_line(text, about) for text in texts if _digest(text) not in seen]
            card.omit("twice", len(texts) - len(new))
            seen.update(map(_digest, texts))
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


def _about(run: RecordedRun, record: EpisodeRecord, dataset: Dataset) -> dict[str, Any]:
    identity = run.config["identity"]
    return {
        "episode": record.episode_id,
        "split": identity["dataset"],
        "family": dataset.family.name,
        "agent": cast_of(identity),
        "run": run.path.name,
        "success": succeeded(record.scores, dataset.family),
    }


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


def _digest(text: Mapping[str, Any]) -> bytes:
    return hashlib.sha256(json.dumps(text).encode()).digest()


def _line(text: Mapping[str, Any], about: Mapping[str, Any]) -> str:
    return json.dumps({**text, **about}, ensure_ascii=False) + "\n"


def dataset_of(run: RecordedRun, data: Path | None) -> Dataset:
    """The dataset of a run, with the run's own settings and data."""
    identity = run.config["identity"]
    settings = {"dataset": identity.get("dataset_settings") or {}}
    dataset = open_dataset(Plan("export", identity["dataset"], settings=settings, data=data))
    found = Checksums().combined(dataset.files)
    if found != identity.get("data_checksum"):
        raise UsageError(
            f"{run.path}: the data here are not the run's ({found}, and the run had "
            f"{identity.get('data_checksum')}); give the run's own with --data"
        )
    return dataset
