"""Server storms: whatever a server sends, a run ends in order and nothing wrong is kept."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helpers.loopback import chat, refusal, serving
from wayword.models.middleware.rate import RetryPolicy
from wayword.models.parts import opening
from wayword.runs import Plan, run
from wayword.runs.record import RunFolder
from wayword.runs.results import RunResult

GOOD = chat("Thought: on.\nAction: 1")
WIDTH = 4
"""Episodes at once."""


def _with(**change: Any) -> dict[str, Any]:
    return {**GOOD, **change}


FAULTS: list[tuple[int, Any]] = [
    (429, refusal("slow down")),
    (500, refusal("oops")),
    (502, b"<html>bad gateway</html>"),
    (503, b""),
    (504, refusal("late")),
    (200, b""),
    (200, b'{"choices": [{"mess'),
    (200, b"<html>hello</html>"),
    (200, b"[" * 4000),
    (200, b"x" * 1_100_000),
    (200, []),
    (200, "text"),
    (200, None),
    (200, _with(choices=[])),
    (200, _with(choices=None)),
    (200, _with(choices=[3])),
    (200, _with(choices=[{"message": None}])),
    (200, _with(choices=[{"message": {"content": 7}}])),
    (200, chat(None)),
    (200, chat("")),
    (200, chat("\ud800 Action: 1")),
    (200, chat("Action: goto[nonsense]")),
    (200, _with(usage=None)),
    (200, _with(usage={"prompt_tokens": -500, "completion_tokens": -1})),
    (200, _with(usage={"prompt_tokens": 10**15, "completion_tokens": "many"})),
    (200, _with(usage=[1])),
    (200, {"error": {"message": "inside a 200"}}),
]


def _stormy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, share: float
) -> RunResult:
    """A run against a server that sends a fault for that share of requests."""
    quick = RetryPolicy(retries=12, first=0.001, longest=0.002, max_failures=99)
    monkeypatch.setattr(opening.rate, "RetryPolicy", lambda retries: quick)
    rng = random.Random(seed)
    lock = threading.Lock()
    # The first requests, all under way at once, are answered: a server that has never answered
    # and sends a page has a wrong address, which ends the run.
    calm = iter(range(WIDTH))

    def answer(route: str, body: Any, headers: dict[str, str]) -> tuple[int, Any]:
        with lock:
            is_calm = next(calm, None) is not None
            is_fault = rng.random() < share and not is_calm
            return rng.choice(FAULTS) if is_fault else (200, GOOD)

    with serving(answer) as server:
        settings = {
            "model": {"base_url": server.address},
            "dataset": {"houses": 1, "episodes": 9},
        }
        plan = Plan("navgpt", "houses", "openai:m", settings, concurrency=WIDTH, max_steps=3,
                    out=tmp_path / f"run{seed}", cache=tmp_path / "cache.db")  # fmt: skip
        return run(plan)


def test_a_run_ends_in_order_in_any_storm(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    rounds: Callable[[int, int], int],
    count: Callable[[str, int], None],
) -> None:
    done = 0
    for seed in range(rounds(1, 60)):
        result = _stormy(tmp_path, monkeypatch, seed, 0.4)
        assert not result.outcome.unusable, result.outcome.unusable
        recorded = RunFolder.read(result.path)
        scored = dict(recorded.scores())
        assert len(scored) + result.outcome.failed == 9
        for failure in recorded.failures():
            assert "Traceback" not in failure.reason
            assert "Error:" not in failure.reason, failure.reason
        for scores in scored.values():
            assert 0 <= scores["prompt_tokens"] + scores["completion_tokens"] < 10**8
        done += len(scored)
    count("episodes played through server storms", done)


def test_what_a_sick_server_stated_is_not_replayed_once_it_is_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _stormy(tmp_path, monkeypatch, 1, 0.9)
    well = _stormy(tmp_path, monkeypatch, 2, 0.0)
    assert well.outcome.complete
    texts = {
        text
        for record in RunFolder.read(well.path).records()
        for call in record.trajectory.calls()
        if call.answer is not None
        for text in getattr(call.answer, "texts", ())
    }
    assert all(text.strip() for text in texts)
