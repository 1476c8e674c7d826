"""Names of models as hubs and servers write them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers.served_runs import good, played
from wayword.runs.record import RunFolder


@pytest.mark.parametrize("name", ["org/model:tag@rev", "us.a.b-2025-v1:0"])
def test_a_name_is_sent_and_recorded_as_given(name: str, tmp_path: Path) -> None:
    sent = set()

    def answer(route: str, body: dict[str, Any], headers: object) -> tuple[int, Any]:
        sent.add(body["model"])
        return good(body)

    run = played(answer, tmp_path / "run", model=name)
    assert sent == {name}
    config = RunFolder.read(run.out).config
    assert f"openai:{name}" in str(config)
