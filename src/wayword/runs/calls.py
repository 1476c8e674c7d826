"""Recorded prompts and answers of any agent as training data: ``wayword export --as calls``.

    wayword export runs/a runs/b --as calls --out calls

Model calls are exported as recorded; only pictures that were drawn from the world are drawn again,
by replaying the episode. The output folder contains these files, in the chat format of
LLaMA-Factory and axolotl (see docs/finetuning.md for configurations):

- ``sft.jsonl``: ``messages`` (a prompt and its answer) of calls with a good outcome
- ``kto.jsonl``: ``messages`` and ``label`` (true for a good outcome) of every call
- ``dpo.jsonl``: ``messages`` (a prompt), and its best and worst answer as ``chosen`` and
  ``rejected``
- ``dataset_info.json``: the three files for LLaMA-Factory; ``card.json``: counts and settings
- ``images``: the pictures, which the column ``images`` of a row names in the order of the
  ``<image>`` in its messages

The outcome of an answer is the score of its episode, or -1 if the answer was not a legal action.
Outcomes are averaged if a prompt received the same answer several times.

Sources: Ouyang et al. 2022 (SFT), Rafailov et al. 2023 (DPO), Ethayarajh et al. 2024 (KTO);
LLaMA-Factory, ``data/README.md``.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from wayword.core.action import Rejection
from wayword.core.episode import Json, JsonObject
from wayword.core.errors import UsageError, suggest
from wayword.core.model import Choice, Image, user
from wayword.core.trajectory import Trajectory
from wayword.core.visible import escaped
from wayword.models.parts.calling import tool_field, wire_message
from wayword.runs.config import success_of
from wayword.runs.export import EMPTY_FILES, Card, OnEpisode, records, require_new
from wayword.runs.pictures import (
    PictureFolder,
    Redrawing,
    with_pictures,
    without_placeholder,
)
from wayword.runs.record import RunFolder
from wayword.settings import make

TAGS = {
    f"{name}_tag": name for name in ("role", "content", "user", "assistant", "system")
}
COLUMNS: Mapping[str, Mapping[str, str]] = {
    "sft": {"messages": "messages"},
    "kto": {"messages": "messages", "kto_tag": "label"},
    "dpo": {"messages": "messages", "chosen": "chosen", "rejected": "rejected"},
}
"""Columns of each file: LLaMA-Factory's name and ours."""

# Outcome of an answer without a legal action, lower than any score.
ILLEGAL = -1.0


@dataclass(frozen=True)
class CallSettings:
    """Settings of an export of calls: ``--set by=spl --set least=0.8``.

    ``by`` is the metric used as score (higher is better), by default the success metric. Outcomes
    of at least ``least`` are good. ``role`` and ``actors`` restrict the calls to a model role and
    to some actors; empty means all.
    """

    by: str = ""
    least: float = 0.5
    role: str = ""
    actors: Sequence[str] = ()


IMAGES = "images"
"""Column of a row with pictures, and the folder of their files."""
Answers = tuple[int, defaultdict[str, list[float]]]
"""Byte offset of a prompt in ``kto.jsonl``, and the outcomes of each of its answers."""


def export_calls(
    runs: Sequence[Path],
    out: Path,
    values: Mapping[str, Any],
    *,
    everything: bool = False,
    thoughts: bool = False,
    data: Path | None = None,
    trusted: Sequence[Path] = (),
    on_episode: OnEpisode | None = None,
) -> Card:
    """Write the folder ``out``, which must be new or empty; ``values`` are the settings.

    ``everything`` includes answers with any outcome in ``sft.jsonl``; ``thoughts`` adds the text of
    reasoning models before an answer as ``reasoning_content``. ``data`` and ``trusted`` open the
    datasets of runs whose agents saw drawn pictures. Raises ``UsageError`` for a metric that a run
    does not have and for data that differ from the run's, ``RecordingError`` if a run cannot be
    read or ``out`` is not empty.
    """
    settings: CallSettings = make(CallSettings, values, "calls")
    opened = [RunFolder.read(path) for path in runs]
    require_new(out)
    out.mkdir(parents=True, exist_ok=True)
    card = Card("calls", "chat", asdict(settings))
    about = {run: card.describe(run) for run in opened}
    # Prompts by their digest: an agent asks the same in several episodes.
    answers: dict[bytes, Answers] = {}
    digests = set[bytes]()
    folder = PictureFolder(out / IMAGES)
    redrawing = Redrawing(data, trusted)
    with (out / "sft.jsonl").open("wb") as sft, (out / "kto.jsonl").open("wb") as kto:
        for run, record in records(opened, on_episode):
            # The outcome of an episode is that of all its answers.
            metric = settings.by or success_of(run.config)
            if metric not in record.scores:
                hint = suggest(metric, record.scores)
                raise UsageError(
                    f"{run.path}: the episodes have no metric {metric!r}; {hint}"
                )
            before = card.lines
            if not any(True for _ in record.trajectory.calls()):
                card.omit("episodes without model calls")
            drawn = redrawing.pictures(run, record)
            outcome = record.scores[metric]
            for row in _rows(record.trajectory, outcome, thoughts, card, folder, drawn):
                if settings.role not in ("", row["role"]):
                    continue
                if row["actor"] not in (settings.actors or (row["actor"],)):
                    continue
                row |= {"episode": record.episode_id, **about[run]}
                # All answers of a prompt, of which dpo.jsonl gets the best and the worst.
                *prompt, answer = row["messages"]
                first = kto.tell(), defaultdict[str, list[float]](list)
                # The same words with other pictures are another prompt.
                shown = row.get(IMAGES, [])
                _, outcomes = answers.setdefault(_digest([*prompt, *shown]), first)
                outcomes[json.dumps(answer)].append(row["outcome"])
                good = row["outcome"] >= settings.least
                kto.write(_line({**row, "label": good}))
                card.decisions += 1
                # sft.jsonl gets the good ones, each once.
                if not (good or everything):
                    cause = f"below {settings.least:g}"
                    if row["outcome"] == ILLEGAL:
                        cause = "illegal"
                    card.omit(cause)
                elif (digest := _digest([*row["messages"], *shown])) in digests:
                    card.omit("duplicate")
                else:
                    digests.add(digest)
                    sft.write(_line(row))
                    card.lines += 1
            if card.lines > before:
                card.episodes += 1
    _write_pairs(out, answers.values())
    card.pictures = folder.count
    card.files = {name: _size(out / name) for name in EMPTY_FILES}
    card.characters = card.files["sft.jsonl"]["characters"]
    card.empty_files = [name for name, each in card.files.items() if not each["lines"]]
    # What LLaMA-Factory needs to know of the three files.
    info: dict[str, Mapping[str, Any]] = {}
    for name, columns in COLUMNS.items():
        entry: dict[str, Any] = {
            "file_name": f"{name}.jsonl",
            "formatting": "sharegpt",
            "columns": dict(columns),
        }
        if card.pictures:
            entry["columns"][IMAGES] = IMAGES
        info[f"wayword_{name}"] = {**entry, "ranking": name == "dpo", "tags": TAGS}
    for name, content in {"dataset_info": info, "card": asdict(card)}.items():
        (out / f"{name}.json").write_text(
            json.dumps(content, indent=2) + "\n", encoding="utf-8"
        )
    return card


def _size(path: Path) -> dict[str, int]:
    """Return the numbers of lines and characters of a written file."""
    with path.open(encoding="utf-8", newline="\n") as file:
        sizes = list(map(len, file))
    return {"lines": len(sizes), "characters": sum(sizes)}


def _write_pairs(out: Path, answers: Iterable[Answers]) -> None:
    """Write ``dpo.jsonl``: the best and worst answer of each prompt, unless they are equal."""
    with (out / "kto.jsonl").open("rb") as kto, (out / "dpo.jsonl").open("wb") as dpo:
        for at, outcomes in answers:
            means = {answer: fmean(each) for answer, each in outcomes.items()}
            best = max(means, key=means.__getitem__)
            worst = min(means, key=means.__getitem__)
            if means[best] > means[worst]:
                kto.seek(at)
                row = json.loads(kto.readline())
                pair = {"chosen": json.loads(best), "rejected": json.loads(worst)}
                if IMAGES in row:
                    pair[IMAGES] = row[IMAGES]
                dpo.write(_line({"messages": row["messages"][:-1], **pair}))


def _rows(
    trajectory: Trajectory,
    score: float,
    thoughts: bool,
    card: Card,
    folder: PictureFolder,
    drawn: Mapping[str, Image],
) -> Iterator[dict[str, Any]]:
    """Yield the answered calls of an episode's last trial, in order, as rows of messages.

    ``score`` is the outcome of every call but those of rejected decisions, whose outcome is
    ``ILLEGAL``. ``step`` counts from 1; it is 0 for calls before the first step. A plain text
    prompt becomes a user message. What cannot be learned from is counted on the card. Pictures
    are written to the ``folder``, those of which the record has only hashes as ``drawn``.
    """
    # Calls before the first step, such as those of a plan, belong to the first actor.
    # A record from elsewhere may have no start.
    first_actor = next(iter(trajectory.start), "")
    calls = [(call, first_actor, 0, score) for call in trajectory.opening_calls]
    for number, step in enumerate(trajectory.steps, 1):
        outcome = score
        if isinstance(step.decision, Rejection):
            outcome = ILLEGAL
        calls += [(call, step.actor, number, outcome) for call in step.calls]
    for call, actor, number, outcome in calls:
        prompt = call.prompt
        if isinstance(prompt, str):
            prompt = [user(prompt)]
        # Calls without a text to learn from are counted.
        answer = call.answer
        shown = with_pictures(prompt, drawn)
        if answer is None or (isinstance(answer, Choice) and answer.other_text):
            card.omit("without an answer")
        elif shown is None:
            card.omit("with pictures that cannot be drawn again")
        else:
            if isinstance(answer, Choice):
                reply = {"role": "assistant", "content": answer.best}
            else:
                reply = wire_message(answer.message)
            messages, images = folder.exported(shown)
            if images and reply["content"]:
                reply["content"] = without_placeholder(reply["content"])
            if thoughts and answer.reasoning:
                reply["reasoning_content"] = answer.reasoning[0]
            about = {"actor": actor, "role": call.role, "step": number, **images}
            if call.sampling is not None and call.sampling.tools:
                about["tools"] = list(map(tool_field, call.sampling.tools))
            yield {"messages": [*messages, reply], "outcome": outcome, **about}


def _digest(messages: Sequence[Json]) -> bytes:
    return hashlib.sha256(json.dumps(messages).encode()).digest()


def _line(row: JsonObject) -> bytes:
    return (escaped(json.dumps(row, ensure_ascii=False)) + "\n").encode()
