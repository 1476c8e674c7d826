"""A prompt that is too long fails its call alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from helpers.served_runs import good, played


def test_only_the_long_prompt_fails(tmp_path: Path) -> None:
    seen: dict[str, int] = {}

    def answer(route: str, body: dict[str, Any], headers: object) -> tuple[int, Any]:
        prompt = str(body["messages"][-1]["content"])[:300]
        if seen.setdefault(prompt, len(seen)) == 1:
            text = "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000"
            return 400, {"type": "error", "error": {"message": text}}
        return good(body)

    run = played(answer, tmp_path / "run")
    assert (run.outcome.finished, run.outcome.failed) == (2, 1)
    assert run.server.refused == 1
    assert all(
        {"temperature", "max_tokens"} <= body.keys() for body in run.server.asked
    )
