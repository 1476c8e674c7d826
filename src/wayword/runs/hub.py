"""Finished runs as a dataset in the Hugging Face layout: tables, and a card that describes them.

    wayword export runs/gold --format hub --out gold-dataset --parquet

Three tables: ``chat`` (an episode a row, as messages), ``completion`` (a decision a row, prompt and
answer) and ``steps`` (a step a row, as it happened: action, thought, feedback, whether rejected).
Where agents had pictures before them, ``trajectory`` has a row a step with the picture of what the
actor faced. ``datasets.load_dataset("gold-dataset", "chat")`` opens one. JSON lines, and pictures
as files that the table names; with ``parquet`` Parquet, written by duckdb, pictures inside.

Source: Hugging Face hub documentation, "Manual configuration" of a dataset repository's card.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from wayword.agents.strategies.strategy import instruction
from wayword.core.action import Rejection
from wayword.core.dataset import of_ids
from wayword.core.errors import RecordingError, needing
from wayword.core.model import Image
from wayword.core.perceiver import Perceiver
from wayword.core.trajectory import Step
from wayword.runs.codec import plain
from wayword.runs.export import Card, Export, OnEpisode, dataset_of, export
from wayword.runs.plan import cast_of
from wayword.runs.record import RecordedRun, RunFolder

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
    duckdb = _duckdb() if parquet else None
    paths = {name: out / "data" / f"{name}.jsonl" for name in TABLES}
    card = export(runs, paths["chat"], replace(what, form="chat"), on_episode)
    export(runs, paths["completion"], replace(what, form="steps"))
    opened = [RunFolder.read(path) for path in runs]
    _write(paths["steps"], _steps(opened, what))
    _write(paths["trajectory"], _trajectory(opened, what, out / "images"))
    rows = {name: _lines(path) for name, path in paths.items()}
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
    played = [_played(run) for run in runs]
    left = ", ".join(f"{count} {cause}" for cause, count in sorted(card.omitted.items()))
    lines = [
        "---\nlanguage:\n- en\ntags:\n- wayword\n- embodied\n- navigation",
        "configs:",
        *configs,
        *_features(suffix, rows),
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


def _played(run: RecordedRun) -> str:
    identity = run.config["identity"]
    checksum = str(identity.get("data_checksum", ""))[:8] or "generated"
    cells = (run.path.name, cast_of(identity), identity["dataset"], checksum)
    return f"| {' | '.join(str(cell).replace('|', '/') for cell in cells)} |"


def _features(suffix: str, rows: dict[str, int]) -> list[str]:
    """What tells ``datasets`` that a column holds pictures; of Parquet alone, as JSON has none."""
    if suffix != "parquet" or not rows["trajectory"]:
        return []
    columns = [f"  - name: {name}\n    dtype: {kind}" for name, (_, kind) in PICTURED.items()]
    return ["dataset_info:\n- config_name: trajectory\n  features:", *columns]


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


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for _ in file)


def _duckdb() -> Any:
    with needing("Parquet is written by duckdb", "parquet"):
        import duckdb
    return duckdb
