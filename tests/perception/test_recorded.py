"""Recorded observations that are broken end in one line that names the scan."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from wayword.core.errors import DataError
from wayword.perception.recorded import RecordedPerceiver

TOLD = {"observations_list_summarized": "s.json", "observations_summarized": "s_summarized.json"}


@pytest.mark.parametrize("broken", TOLD)
def test_a_file_of_another_form_is_refused_in_one_line(broken: str, tmp_path: Path) -> None:
    good = {"observations_list_summarized": ["a wall"] * 8, "observations_summarized": "a room"}
    for part, name in TOLD.items():
        (tmp_path / part).mkdir()
        text = "null" if part == broken else json.dumps({"a": good[part]})
        (tmp_path / part / name).write_text(text)
    perceiver = RecordedPerceiver(tmp_path, lambda scene, place: [[] for _ in range(8)])
    with pytest.raises(DataError, match=r"has an unexpected value") as refused:
        perceiver.perceive("s", "a")
    assert "\n" not in str(refused.value)
    assert "scan s" in str(refused.value) or "s.json" in str(refused.value)
