"""A model that thinks until its limit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from helpers.loopback import chat
from helpers.served_runs import played
from wayword.runs.record import RunFolder


def _answer(route: str, body: dict[str, Any], headers: object) -> tuple[int, Any]:
    answer = chat(None, reasoning_content="Let me think about the hallway. " * 40)
    limit = body.get("max_completion_tokens") or body["max_tokens"]
    answer["choices"][0]["finish_reason"] = "length"
    details = {"reasoning_tokens": limit}
    answer["usage"] = {"prompt_tokens": 900, "completion_tokens": limit,
                       "completion_tokens_details": details}  # fmt: skip
    return 200, answer


def test_every_answer_is_cut_off(tmp_path: Path) -> None:
    run = played(_answer, tmp_path / "run", model="gpt-5-mini")
    steps = [s for r in RunFolder.read(run.out).records() for s in r.trajectory.steps]
    assert steps
    assert {getattr(step.decision, "kind", "") for step in steps} == {"cut_off"}
