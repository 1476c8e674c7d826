"""The result of a goal in both forms of the bridge."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any

import pytest

from wayword.worlds.objectnav.rosbridge import Link

CASES: dict[str, tuple[dict[str, Any], str]] = {
    "reached": ({"status": 4, "values": {}}, "ok"),
    "reached, Humble": ({"values": {"status": 4, "result": {"result": {}}}}, "ok"),
    "cancelled, Humble": ({"values": {"status": 5, "result": {}}}, "cancelled"),
    "aborted, Humble": ({"values": {"status": 6, "result": {}}}, "aborted"),
    "blocked, Humble": (
        {"values": {"status": 6, "result": {"error_code": 105}}}, "blocked"
    ),
    "no status": ({"values": {}}, "aborted"),
    "no values": ({"status": 4, "values": None}, "ok"),
    "a status as text": ({"status": "4", "values": {}}, "ok"),
    "a result as text": ({"result": "true", "status": 4}, "ok"),
    "a result of one": ({"result": 1, "status": 4}, "ok"),
    "status against result": ({"result": False, "status": 4}, "ok"),
    "a code of another server": ({"status": 6, "values": {"error_code": 99999}}, "aborted"),
    "a negative code": ({"status": 6, "values": {"error_code": -1}}, "aborted"),
    "a code that is true": ({"status": 6, "values": {"error_code": True}}, "aborted"),
    "rejected": ({"result": False, "values": "the goal was rejected"}, "refused"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_status_is_read_where_the_bridge_puts_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer, status = CASES[name]
    link = Link("ws://127.0.0.1:1")

    @contextmanager
    def request() -> Any:
        yield "id"

    monkeypatch.setattr(link, "_request", request)
    monkeypatch.setattr(link, "_send", lambda message: None)
    monkeypatch.setattr(link, "_answer", lambda *about: {"result": True, **answer})
    assert link.goal("/navigate_to_pose", "x", {}, 1.0)[0] == status
