"""pandas reads the records of a run without options, and a result is a frame."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

import wayword


def test_pandas_reads_the_records_of_a_run(tmp_path: Path) -> None:
    result = wayword.run("oracle", "houses", limit=3, out=tmp_path / "run")
    frame = pd.read_json(result.path / "episodes.jsonl.gz", lines=True)
    assert len(frame) == 3
    assert frame["trajectory"].notna().all()


def test_the_result_as_a_frame_has_a_row_an_episode(tmp_path: Path) -> None:
    result = wayword.run("random", "houses", limit=3, max_steps=3, out=tmp_path / "run")
    frame = result.to_dataframe()
    assert len(frame) == 3
    assert frame["sr"].notna().all()


def test_ids_stay_texts_as_the_docs_read_them(tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    path.write_text('{"episode": "5593_0"}\n{"episode": "5593_1"}\n')
    frame = pd.read_json(path, lines=True, dtype=False)
    assert list(frame["episode"]) == ["5593_0", "5593_1"]
    docs = Path(__file__).parents[3] / "docs" / "running.md"
    assert "lines=True, dtype=False)" in docs.read_text(encoding="utf-8")
