"""Finished runs as a dataset in the Hugging Face layout: tables, and a card that describes them.

    wayword export runs/gold --format hub --out gold-dataset --parquet

Three tables: ``chat`` (an episode a row, as messages), ``completion`` (a decision a row, prompt and
answer) and ``steps`` (a step a row, as it happened: action, thought, feedback, whether rejected).
``datasets.load_dataset("gold-dataset", "chat")`` opens one. JSON lines; with ``parquet`` Parquet,
written by duckdb.

Source: Hugging Face hub documentation, "Manual configuration" of a dataset repository's card.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from wayword.core.action import Rejection
from wayword.core.errors import RecordingError, UsageError
from wayword.core.trajectory import Step
from wayword.runs.export import Card, Export, OnEpisode, export
from wayword.runs.folder import RecordedRun, RunFolder
from wayword.runs.jsonl import plain
from wayword.runs.parts import cast_of

TABLES = ("chat", "completion", "steps")
ABOUT = {
    "chat": "an episode of one actor as messages: what it would be asked, and the answers",
    "completion": "a decision: the whole prompt, and the answer",
    "steps": "a step as it happened: action, thought, what came of it",
}


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
    duckdb = _duckdb() if parquet else None
    paths = {name: out / "data" / f"{name}.jsonl" for name in TABLES}
    card = export(runs, paths["chat"], replace(what, form="chat"), on_episode)
    export(runs, paths["completion"], replace(what, form="steps"))
    opened = [RunFolder.read(path) for path in runs]
    with paths["steps"].open("w", encoding="utf-8", newline="\n") as file:
        for row in _steps(opened, what):
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    rows = {name: _lines(path) for name, path in paths.items()}
    for name, path in paths.items():
        path.with_name(f"{path.name}.card.json").unlink(missing_ok=True)
        if duckdb is not None and rows[name]:
            source, target = str(path).replace("'", "''"), str(path.with_suffix(".parquet"))
            target = target.replace("'", "''")
            duckdb.sql(
                f"COPY (SELECT * FROM read_json('{source}', format='newline_delimited', "
                f"maximum_object_size=100000000)) TO '{target}' (FORMAT parquet)"
            )
            path.unlink()
    suffix = "parquet" if parquet else "jsonl"
    (out / "README.md").write_text(card_text(opened, card, rows, suffix), encoding="utf-8")
    return card


def card_text(runs: Sequence[RecordedRun], card: Card, rows: dict[str, int], suffix: str) -> str:
    """The card: what the hub reads at the top, then what a person should know."""
    configs = [
        f"- config_name: {name}\n  data_files:\n  - split: train\n    path: data/{name}.{suffix}"
        for name in TABLES
        if rows[name]
    ]
    played = [_played(run) for run in runs]
    left = ", ".join(f"{count} {cause}" for cause, count in sorted(card.omitted.items()))
    lines = [
        "---\nlanguage:\n- en\ntags:\n- wayword\n- embodied\n- navigation",
        "configs:",
        *configs,
        "---\n",
        f"# {', '.join(card.splits)}, played in Wayword {card.wayword}\n",
        "| Table | Rows | A row is |\n| --- | ---: | --- |",
        *(f"| `{name}` | {rows[name]:,} | {ABOUT[name]} |" for name in TABLES),
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


def _played(run: RecordedRun) -> str:
    identity = run.config["identity"]
    checksum = str(identity.get("data_checksum", ""))[:8] or "generated"
    cells = (run.path.name, cast_of(identity), identity["dataset"], checksum)
    return f"| {' | '.join(str(cell).replace('|', '/') for cell in cells)} |"


def _steps(runs: Sequence[RecordedRun], what: Export) -> Iterator[dict[str, Any]]:
    for run in runs:
        success = str(run.config.get("success", "sr"))
        for record in run.records():
            solved = record.scores.get(success, 0.0) > 0.5
            if not (solved or what.everything):
                continue
            for number, step in enumerate(record.trajectory.steps, 1):
                if step.actor in (what.actors or [step.actor]):
                    about = {"episode": record.episode_id, "run": run.path.name, "step": number}
                    yield {**about, "success": solved, **_row(step)}


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


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for _ in file)


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError:
        raise UsageError("Parquet is written by duckdb: pip install 'wayword[parquet]'") from None
    return duckdb
