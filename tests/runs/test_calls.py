"""Recorded calls as training data: byte for byte, sorted by what came of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from helpers.docs_pages import PAGES, blocks
from helpers.records import records, rewrite
from wayword.cli.app import app
from wayword.core.action import Rejection
from wayword.core.errors import RecordingError, UsageError
from wayword.core.model import Completion, Prompt, Sampling
from wayword.models.scripted import ScriptedModel
from wayword.runs import RunFolder, run
from wayword.runs.calls import export_calls


def rows(folder: Path, name: str) -> list[dict[str, Any]]:
    return [
        json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()
    ]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three players of the same two questions: one solves the first, one wanders, one sings."""
    folder = tmp_path_factory.mktemp("runs")

    def solver(prompt: Prompt, sampling: Sampling) -> Completion:
        done = "hallway" in prompt[-1].content and "go[fridge]" in prompt[-1].content  # type: ignore[union-attr]
        text = json.dumps({"Action": "go[fridge]" if done else "go[hallway]"})
        return Completion((text,), ("stop",), reasoning=("It is cold in there.",))

    players: dict[str, Any] = {
        "solver": solver,
        "stops": lambda prompt, sampling: json.dumps({"Action": "stop"}),
        "sings": lambda prompt, sampling: "La la la.",
    }
    for name, answers in players.items():
        model = ScriptedModel(name, answers=answers)
        run("act", on="two_phase", model=model, limit=2, max_steps=4, out=folder / name)
    return [folder / name for name in players]


def test_every_call_is_kept_as_it_was_queried(runs: list[Path], tmp_path: Path) -> None:
    card = export_calls(runs, tmp_path / "calls", {})
    kto = rows(tmp_path / "calls", "kto")
    recorded = []
    outcomes = []
    for folder in runs:
        for record in RunFolder.read(folder).records():
            for step in record.trajectory.steps:
                (call,) = step.calls
                prompt = [{"role": m.role, "content": m.content} for m in call.prompt]  # type: ignore[union-attr]
                answer = {"role": "assistant", "content": call.answer.text}  # type: ignore[union-attr]
                recorded.append([*prompt, answer])
                illegal = isinstance(step.decision, Rejection)
                outcomes.append(-1.0 if illegal else record.scores["sr"])
    assert [row["messages"] for row in kto] == recorded
    assert card.decisions == len(recorded)
    assert {*outcomes} == {-1.0, 0.0, 1.0}
    assert [row["outcome"] for row in kto] == outcomes
    assert [row["label"] for row in kto] == [outcome == 1.0 for outcome in outcomes]


def test_files_hold_good_answers_and_pairs_of_one_prompt(
    runs: list[Path], tmp_path: Path
) -> None:
    progress: list[tuple[int, int]] = []
    card = export_calls(
        runs, tmp_path / "calls", {}, on_episode=lambda *each: progress.append(each)
    )
    total = progress[0][1]
    assert [done for done, _ in progress] == list(range(total + 1)), "done of done"
    sft, kto, dpo = (rows(tmp_path / "calls", name) for name in ("sft", "kto", "dpo"))
    for name, written in {"sft": sft, "kto": kto, "dpo": dpo}.items():
        text = (tmp_path / "calls" / f"{name}.jsonl").read_text(encoding="utf-8")
        sizes = {"lines": len(written), "characters": len(text)}
        assert card.files[f"{name}.jsonl"] == sizes
    assert card.characters == card.files["sft.jsonl"]["characters"] > 0
    assert f"in sft.jsonl, {len(kto)} in kto.jsonl" in card.line
    good = {json.dumps(row["messages"]) for row in kto if row["label"]}
    assert {json.dumps(row["messages"]) for row in sft} == good
    assert card.lines == len(sft) == len(good) > 0
    assert card.omitted["illegal"] > 0 < card.omitted["below 0.5"]
    outcomes: dict[str, list[float]] = {}
    for row in kto:
        outcomes.setdefault(json.dumps(row["messages"]), []).append(row["outcome"])
    assert dpo
    for pair in dpo:
        better, worse = (
            outcomes[json.dumps([*pair["messages"], pair[side]])]
            for side in ("chosen", "rejected")
        )
        assert sum(better) / len(better) > sum(worse) / len(worse)
    assert len({json.dumps(pair["messages"]) for pair in dpo}) == len(dpo)


def test_filters_thoughts_and_refusals(runs: list[Path], tmp_path: Path) -> None:
    export_calls(
        runs, tmp_path / "all", {"least": "1.5"}, everything=True, thoughts=True
    )
    sft = rows(tmp_path / "all", "sft")
    assert {row["run"] for row in sft} == {"solver", "stops", "sings"}
    assert sft[0]["messages"][-1]["reasoning_content"] == "It is cold in there."
    assert not any(row["label"] for row in rows(tmp_path / "all", "kto"))
    none = export_calls(runs, tmp_path / "role", {"role": "planner"})
    assert none.decisions == 0
    assert none.empty_files == ["sft.jsonl", "kto.jsonl", "dpo.jsonl"]
    assert "sft.jsonl is empty: no outcome was good" in "\n".join(none.notices)
    with pytest.raises(UsageError, match="have no metric 'step'; did you mean 'steps'"):
        export_calls(runs, tmp_path / "metric", {"by": "step"})
    with pytest.raises(RecordingError, match="is not empty"):
        export_calls(runs, tmp_path / "all", {})
    with pytest.raises(
        UsageError, match="calls has no setting 'last'; did you mean 'least'"
    ):
        export_calls(runs, tmp_path / "last", {"last": 1})


def test_calls_before_the_first_step_need_no_start(
    runs: list[Path], tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(runs[0], folder)
    recorded = records(folder)
    trajectory = recorded[0]["trajectory"]
    trajectory["opening_calls"] = trajectory["steps"][0]["calls"]
    trajectory["start"] = {}
    rewrite(folder, recorded)
    export_calls([folder], tmp_path / "calls", {})
    written = rows(tmp_path / "calls", "kto")
    assert [(row["actor"], row["step"]) for row in written[:2]] == [
        ("", 0),
        ("agent", 1),
    ]


def test_the_pages_configurations_name_what_an_export_holds(
    runs: list[Path], tmp_path: Path
) -> None:
    export_calls(runs, tmp_path / "calls", {})
    (page,) = [path for path in PAGES if path.name == "finetuning.md"]
    configurations = {
        block.title: yaml.safe_load(block.text)
        for block in blocks(page)
        if block.language == "yaml"
    }
    info = json.loads((tmp_path / "calls" / "dataset_info.json").read_text())
    for name, entry in info.items():
        (row, *_) = rows(tmp_path / "calls", name.removeprefix("wayword_"))
        assert (tmp_path / "calls" / entry["file_name"]).is_file()
        assert set(entry["columns"].values()) <= set(row), name
        assert {message["role"] for message in row["messages"]} <= set(
            entry["tags"].values()
        )
    assert configurations["llama_factory.yaml"]["dataset"] in info
    assert configurations["llama_factory.yaml"]["dataset_dir"] == "calls"
    for title in ("axolotl.yaml", "axolotl_dpo.yaml"):
        (dataset,) = configurations[title]["datasets"]
        file = tmp_path / dataset["path"]
        (row, *_) = rows(file.parent, file.stem)
        assert {
            value for key, value in dataset.items() if key.startswith("field_")
        } <= set(row)


def test_the_command_says_what_it_cannot_export(tmp_path: Path) -> None:
    run("oracle", on="two_phase", limit=1, out=tmp_path / "gold")
    command = [
        "export",
        str(tmp_path / "gold"),
        "--as",
        "calls",
        "--out",
        str(tmp_path / "calls"),
    ]
    for _ in range(2):  # nothing is left behind
        failed = CliRunner().invoke(app, command)
        assert "nothing to export; left out: 1 episodes without model calls" in str(
            failed.exception
        )
    wrong = CliRunner().invoke(app, [*command, "--format", "steps"])
    assert "remove --format and --parquet" in str(wrong.exception)


@pytest.mark.parametrize("layout", ["calls", "mcap", "harbor"])
def test_a_missing_run_is_named_before_a_folder_that_is_full(
    layout: str, tmp_path: Path
) -> None:
    out = tmp_path / "train.jsonl"
    out.write_text("{}\n")
    command = ["export", str(tmp_path / "nothing"), "--as", layout, "--out", str(out)]
    failed = CliRunner().invoke(app, command)
    assert "nothing" in str(failed.exception)
    assert "is not empty" not in str(failed.exception)


def test_a_misspelled_layout_of_an_export_names_the_near_one(tmp_path: Path) -> None:
    failed = CliRunner().invoke(app, ["export", str(tmp_path), "--as", "cals"])
    assert str(failed.exception) == "--as cals: did you mean 'calls'?"
