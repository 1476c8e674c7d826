"""The lengths of a data frame are those of ``table --by length``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import wayword
from wayword.runs import lengths


def test_a_data_frame_has_the_lengths_of_the_table_and_the_model(
    tmp_path: Path,
) -> None:
    pytest.importorskip("pandas")
    result = wayword.run(
        "act", "houses", "scripted:first", limit=6, max_steps=2, out=tmp_path / "run"
    )
    frame = result.to_dataframe()
    paths = {t.episode.id: t.reference.path for t in result.dataset.tasks}  # type: ignore[attr-defined]
    for _, row in frame.iterrows():
        assert row["gold_length"] == len(paths[row["episode"]]) - 1
    assert set(frame["model"]) == {"scripted:first"}

    rows = lengths.by_length(result.recorded, result.dataset.tasks)
    ranges = [[int(n) for n in re.findall(r"\d+", label)] for label in rows]
    assert min(map(min, ranges)) <= frame["gold_length"].min()
    assert frame["gold_length"].max() <= max(map(max, ranges))
