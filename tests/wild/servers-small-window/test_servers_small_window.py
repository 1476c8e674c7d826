"""A limit that does not fit next to the prompt is lowered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from helpers.loopback import refusal
from helpers.served_runs import good, played

WINDOW = 2600
NAMES = "'max_tokens' or 'max_completion_tokens'"


def _answer(route: str, body: dict[str, Any], headers: object) -> tuple[int, Any]:
    limit = body.get("max_tokens") or body["max_completion_tokens"]
    prompt = sum(len(str(message["content"])) for message in body["messages"]) // 4
    if limit + prompt <= WINDOW:
        return good(body)
    text = (
        f"{NAMES} is too large: {limit}. This model's maximum context length is {WINDOW} tokens "
        f"and your request has {prompt} input tokens ({limit} > {WINDOW} - {prompt})."
    )
    return 400, refusal(text)


def test_the_limit_is_lowered_and_nothing_else_changes(tmp_path: Path) -> None:
    run = played(_answer, tmp_path / "run", model="Qwen/Qwen3-8B")
    assert run.outcome.finished == 3
    assert run.server.statuses.count(400) >= 1
    assert len(run.server.asked) <= 2 * len(run.calls)
    assert all("temperature" in body for body in run.server.asked)
    assert all("max_tokens" in body for body in run.server.asked)


def test_a_server_that_states_its_window_refuses_nothing(tmp_path: Path) -> None:
    models = {"data": [{"id": "Qwen/Qwen3-8B", "max_model_len": WINDOW}]}
    run = played(_answer, tmp_path / "run", models, model="Qwen/Qwen3-8B")
    assert (run.outcome.finished, run.server.refused) == (3, 0)
