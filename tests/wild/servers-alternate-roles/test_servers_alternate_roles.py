"""A template without a system role."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from helpers.served_runs import good, played


def _answer(route: str, body: dict[str, Any], headers: object) -> tuple[int, Any]:
    roles = [message["role"] for message in body["messages"]]
    if roles[0] == "system":
        text = "Conversation roles must alternate user/assistant/user/assistant/..."
        return 400, {"object": "error", "message": text, "code": 400}
    return good(body)


def test_the_system_text_goes_before_the_users(tmp_path: Path) -> None:
    run = played(_answer, tmp_path / "run")
    assert (run.outcome.finished, run.server.refused) == (3, 1)
    assert any("roles must alternate" in line for line in run.notices)
