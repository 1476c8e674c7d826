"""A temperature of 0 that is refused by its value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from helpers.served_runs import good, played


def _answer(route: str, body: dict[str, Any], headers: object) -> tuple[int, Any]:
    if body.get("temperature") == 0:
        text = "Input validation error: `temperature` must be strictly positive"
        return 422, {"error": text, "error_type": "validation"}
    return good(body)


def test_the_temperature_alone_is_left_out(tmp_path: Path) -> None:
    run = played(_answer, tmp_path / "run")
    assert (run.outcome.finished, run.server.refused) == (3, 1)
    first, *later = run.server.asked
    assert all(body.keys() == first.keys() - {"temperature"} for body in later)
