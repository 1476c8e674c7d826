"""NavGPT on R2R with the embedded model, in this process and behind a real server."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.sampling import LONG
from wayword.core.action import Rejection
from wayword.models.parts.llamacpp import serve
from wayword.models.parts.weights import located
from wayword.runs.plan import Plan
from wayword.runs.record import RecordedRun, RunFolder
from wayword.runs.running import run

pytestmark = [pytest.mark.real, pytest.mark.local_model]
SHORT = {"decoding": "constrained", "thought_length": 40}
# Of the first 300 episodes of the split, the one with the shortest first prompt.
QUIET = ("2692_2",)


def played(plan: Plan) -> RecordedRun:
    result = run(plan)
    assert result.outcome.failed == 0, result.notices
    return RunFolder.read(result.path)


def test_constrained_answers_are_never_rejected(data: Path, tmp_path: Path) -> None:
    plan = Plan(
        "navgpt", "r2r:val_seen", "local:smollm2", SHORT,
        episodes=QUIET, max_steps=2 if LONG else 1, data=data, out=tmp_path / "run",
    )  # fmt: skip
    scores = [one for _, one in played(plan).scores()]
    assert len(scores) == 1
    assert sum(one["rejections"] for one in scores) == 0
    assert all(one["prompt_tokens"] > 800 for one in scores)


def test_numbered_exits_are_the_default_and_every_token_is_evaluated_once(
    data: Path, tmp_path: Path
) -> None:
    plan = Plan(
        "navgpt", "r2r:val_seen", "local:smollm2",
        episodes=("6757_1",), max_steps=4, data=data, out=tmp_path / "run",
    )  # fmt: skip
    run_of = played(plan)
    assert run_of.config["identity"]["settings"]["decoding"] == "numbered"
    (record,) = run_of.records()
    assert not any(
        isinstance(step.decision, Rejection) for step in record.trajectory.steps
    )
    usage = [call.answer.usage for call in record.trajectory.calls() if call.answer]
    assert len(usage) >= 3, "an episode long enough to reuse something"
    needed = usage[-1].prompt - sum(each.completion for each in usage[:-1])
    assert sum(each.prompt - each.reused for each in usage) <= 1.1 * needed


def test_a_real_server_gives_the_same_kind_of_run(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve(located("smollm2")) as address:
        monkeypatch.setenv("OPENAI_BASE_URL", address)
        plan = Plan(
            "navgpt", "r2r:val_seen", "openai:smollm2", SHORT,
            episodes=QUIET, max_steps=1, data=data, out=tmp_path / "run",
        )  # fmt: skip
        scores = [one for _, one in played(plan).scores()]
    assert len(scores) == 1
    assert sum(one["rejections"] for one in scores) == 0
    assert all(one["calls"] >= 1 for one in scores)


def test_rejections_of_free_answers_are_counted(data: Path, tmp_path: Path) -> None:
    plan = Plan(
        "navgpt", "r2r:val_seen", "local:smollm2",
        {"decoding": "free", "max_tokens": 40},
        episodes=QUIET, max_steps=1, data=data, out=tmp_path / "run",
    )  # fmt: skip
    run_of = played(plan)
    (scores,) = [one for _, one in run_of.scores()]
    (record,) = run_of.records()
    rejected = [
        s for s in record.trajectory.steps if type(s.decision).__name__ == "Rejection"
    ]
    assert scores["rejections"] == len(rejected)
    assert scores["steps"] == len(record.trajectory.steps)
