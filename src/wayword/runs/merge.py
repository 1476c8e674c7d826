"""Shards of one run as one run folder: ``wayword merge``.

Each machine plays ``--shard i/n`` into a folder of its own. Their records are copied as they are,
and the folder can be read, shown and continued like one that was played in one piece. Of a single
folder the merge copies what can be read: the way out of a damaged record.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wayword.core.errors import RecordingError, UsageError
from wayword.models.middleware.budget import LedgerRow
from wayword.runs import config as configs
from wayword.runs.codec import Appender, corrupt, read_members, unusable
from wayword.runs.index import EPISODES, FAILURES, entry_of
from wayword.runs.record import RecordedRun
from wayword.runs.remote import url_of

_SHARD = "shard"
"""The one field of the identity in which shards differ."""


@dataclass(frozen=True, slots=True)
class Merged:
    """The new folder, the number of its episodes, and notices for the user."""

    path: Path
    episodes: int
    notices: tuple[str, ...] = ()


def merge(shards: Sequence[Path], out: Path) -> Merged:
    """Write the shards' episodes to a new run folder, whole or not at all.

    Raises ``UsageError`` for shards of different runs, an episode in two of them, and an ``out``
    that holds anything; ``RecordingError`` where one of several folders is damaged. In a single
    folder, damaged records and second copies are left out, each with a notice.
    """
    if url_of(out):
        raise UsageError(f"--out {url_of(out)}: merge into a folder on this machine")
    if out.is_file() or (out.is_dir() and any(out.iterdir())):
        raise UsageError(f"{out}: holds something; give a new folder with --out")
    runs = [RecordedRun(path) for path in shards]
    if not runs:
        raise UsageError("name the run folders to merge")
    config = _common([configs.read_config(run.path) for run in runs], shards)
    gaps: list[str] | None = [] if len(runs) == 1 else None
    new = out.with_name(f".{out.name}.{os.getpid()}.new")
    try:
        new.mkdir(parents=True)
        configs.write_config(new, config)
        count = _copy(runs, new, gaps)
        _bill(runs, new)
        out.parent.mkdir(parents=True, exist_ok=True)
        new.replace(out)
    except OSError as error:
        raise unusable(out, error, "give a folder that can be written") from error
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return Merged(out, count, (*(f"left out: {gap}" for gap in gaps or ()), *_missing(runs)))


def _common(configs_: Sequence[dict[str, Any]], shards: Sequence[Path]) -> dict[str, Any]:
    """The whole run's config. Raises ``UsageError`` naming what the shards do not share."""
    first = configs_[0]["identity"]
    if len(shards) == 1:
        return configs_[0]
    for other, path in zip(configs_[1:], shards[1:], strict=True):
        for field in dict.fromkeys((*first, *other["identity"])):
            was, now = first.get(field), other["identity"].get(field)
            if field != _SHARD and was != now:
                raise UsageError(f"{path}: is another run: {field!r} is {now!r}, not {was!r}")
    return {**configs_[0], "identity": {**first, _SHARD: ""}}


def _copy(runs: Sequence[RecordedRun], folder: Path, gaps: list[str] | None) -> int:
    """Copy all records; returns the number of episodes."""
    seen = dict[str, Path]()
    for name in (EPISODES, FAILURES):
        with closing(Appender(folder / name)) as lines:
            for run in runs:
                episodes = name == EPISODES
                for raw in _members(run.path, name, gaps, seen if episodes else None):
                    lines.append(raw)
    return len(seen)


def _members(
    run: Path, name: str, gaps: list[str] | None, seen: dict[str, Path] | None
) -> Iterator[bytes]:
    """The records of a file as they are; those of finished episodes once each."""
    path = run / name
    if not path.is_file():
        return
    with path.open("rb") as file:
        for found in read_members(path, gaps=gaps):
            if seen is not None:
                try:
                    episode = entry_of(path, found).episode_id
                    if episode in seen and gaps is None:
                        where = f"{seen[episode]} and {run}"
                        raise UsageError(f"episode {episode!r} is in {where}")
                    if episode in seen:
                        raise corrupt(path, found.number, f"holds {episode!r} a second time")
                    seen[episode] = run
                except RecordingError as error:
                    if gaps is None:
                        raise
                    gaps.append(str(error).partition("; ")[0])
                    continue
            file.seek(found.at)
            yield file.read(found.size)


def _bill(runs: Sequence[RecordedRun], folder: Path) -> None:
    """Record what all shards have spent, so that a budget holds for the whole when it resumes."""
    bills = [configs.Spending(run.path) for run in runs]
    tokens, dollars = sum(b.tokens for b in bills), sum(b.dollars for b in bills)
    if tokens or dollars:
        whole = configs.Spending(folder)
        whole.write(LedgerRow(tokens, dollars))
        whole.close()


def _missing(runs: Sequence[RecordedRun]) -> Iterator[str]:
    """Shards that were not given."""
    given = [str(run.config["identity"].get(_SHARD) or "") for run in runs]
    parts = {name.partition("/")[2] for name in given if "/" in name}
    if len(parts) == 1 and len(runs) > 1:
        of = int(parts.pop())
        missing = [f"{at}/{of}" for at in range(1, of + 1) if f"{at}/{of}" not in given]
        if missing:
            yield f"not among them: shard {', '.join(missing)}"
