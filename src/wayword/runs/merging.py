"""Shards of one run as one run folder: what ``wayword merge`` does.

Each machine plays ``--shard i/n`` into a folder of its own. Their lines are copied, sealed for the
whole run, and the folder can be read, shown and continued like one that was played in one piece.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wayword.core.errors import UsageError
from wayword.models.middleware.budget import Row
from wayword.runs import config as configs
from wayword.runs.columns import Entry
from wayword.runs.folder import RecordedRun
from wayword.runs.jsonl import LineWriter, read_lines, unusable
from wayword.runs.records import INDEX, Seal, index_line, read_at
from wayword.runs.remote import url_of

_APART = "shard"
"""The one field of the identity in which shards differ."""


@dataclass(frozen=True, slots=True)
class Merged:
    """The new folder, how many episodes it holds, and what a person should know."""

    path: Path
    episodes: int
    notices: tuple[str, ...] = ()


def merge(shards: Sequence[Path], out: Path) -> Merged:
    """Write the shards' episodes to a new run folder, whole or not at all.

    Raises ``UsageError`` for shards of different runs, an episode in two of them, and an ``out``
    that holds anything; ``RecordingError`` for a folder that is damaged.
    """
    if url_of(out):
        raise UsageError(f"--out {url_of(out)}: merge into a folder on this machine")
    if out.is_file() or (out.is_dir() and any(out.iterdir())):
        raise UsageError(f"{out}: holds something; give a new folder with --out")
    runs = [RecordedRun(path) for path in shards]
    if not runs:
        raise UsageError("name the run folders to merge")
    written = _common([configs.raw_config(run.path / "config.json") for run in runs], shards)
    beside = out.with_name(f".{out.name}.{os.getpid()}.new")
    try:
        beside.mkdir(parents=True)
        count = _write(runs, beside, written)
        out.parent.mkdir(parents=True, exist_ok=True)
        beside.replace(out)
    except OSError as error:
        raise unusable(out, error, "give a folder that can be written") from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return Merged(out, count, tuple(_lacking(runs)))


def _common(written: Sequence[dict[str, Any]], shards: Sequence[Path]) -> dict[str, Any]:
    """The whole run's config. Raises ``UsageError`` naming what the shards do not share."""
    first = written[0]["identity"]
    for other, path in zip(written[1:], shards[1:], strict=True):
        for field in dict.fromkeys((*first, *other["identity"])):
            was, now = first.get(field), other["identity"].get(field)
            if field != _APART and was != now:
                raise UsageError(f"{path}: is another run: {field!r} is {now!r}, not {was!r}")
    return {**written[0], "identity": {**first, _APART: ""}, "sums": "sha256"}


def _write(runs: Sequence[RecordedRun], folder: Path, written: dict[str, Any]) -> int:
    configs.write_config(folder / "config.json", written)
    seal, seen, at = Seal.of(written), dict[str, Path](), 0
    with ExitStack() as opened:
        lines, index, failures = (
            opened.enter_context(closing(LineWriter(folder / name)))
            for name in ("episodes.jsonl", INDEX, "failures.jsonl")
        )
        for run in runs:
            for entry, line in _episodes(run):
                if entry.episode_id in seen:
                    where = f"{seen[entry.episode_id]} and {run.path}"
                    raise UsageError(f"episode {entry.episode_id!r} is in {where}")
                seen[entry.episode_id] = run.path
                sealed = seal.sealed(line)
                lines.append(sealed)
                moved = Entry(entry.episode_id, entry.scores, entry.ended, at, len(sealed) + 1)
                at += moved.size
                index.append(index_line(moved, seal))
            for _, line in read_lines(run.path / "failures.jsonl"):
                failures.append(seal.sealed(Seal.bare(line)))
    _bill(runs, folder)
    return len(seen)


def _episodes(run: RecordedRun) -> Iterator[tuple[Entry, bytes]]:
    """Each entry with its line, checked, without its sum."""
    path = run.path / "episodes.jsonl"
    for number, (entry, line) in enumerate(read_at(path, run.entries()), 1):
        run.seal.check(path, number, line)
        yield entry, Seal.bare(line)


def _bill(runs: Sequence[RecordedRun], folder: Path) -> None:
    """What all shards have spent, so that a budget holds for the whole when it goes on."""
    bills = [configs.Spending(run.path, (0, 0.0)) for run in runs]
    tokens, dollars = sum(b.tokens for b in bills), sum(b.dollars for b in bills)
    if tokens or dollars:
        whole = configs.Spending(folder, (0, 0.0))
        whole.write(Row(tokens, dollars))
        whole.close()


def _lacking(runs: Sequence[RecordedRun]) -> Iterator[str]:
    """Shards that were not given."""
    given = [str(run.config["identity"].get(_APART) or "") for run in runs]
    parts = {name.partition("/")[2] for name in given if "/" in name}
    if len(parts) == 1:
        of = int(parts.pop())
        missing = [f"{at}/{of}" for at in range(1, of + 1) if f"{at}/{of}" not in given]
        if missing:
            yield f"not among them: shard {', '.join(missing)}"
