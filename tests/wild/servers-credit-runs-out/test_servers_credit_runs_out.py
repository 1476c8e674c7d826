"""Credit that runs out ends the run at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers.loopback import refusal
from helpers.served_runs import good, played

REFUSALS = {
    402: "This request requires more credits, or fewer max_tokens. You can only afford 31",
    # MiniMax-AI/MiniMax-M2#62, modelscope#1691, Wei-Shaw/sub2api#890
    500: "insufficient balance (1008)",
    429: "insufficient balance (1008)",
    403: "INSUFFICIENT_BALANCE: Insufficient account balance",
}


@pytest.mark.parametrize("status", REFUSALS)
def test_no_credit_ends_the_run(tmp_path: Path, status: int) -> None:
    count = [0]

    def answer(route: str, body: dict[str, Any], headers: object) -> tuple[int, Any]:
        count[0] += 1
        return good(body) if count[0] < 4 else (status, refusal(REFUSALS[status]))

    run = played(answer, tmp_path / "run", retries=5)
    assert "add credit" in run.outcome.unusable
    assert len(run.server.asked) == 4
    assert all(
        {"temperature", "max_tokens"} <= body.keys() for body in run.server.asked
    )
