"""A filter that refuses a prompt with the status of a wrong key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers.served_runs import good, played

FILTERED = (
    {"code": "permission-denied", "error": "Content violates usage guidelines. "},
    {
        "code": "The caller does not have permission",
        "error": "Content violates usage guidelines. API key ID: k, "
        "Failed check: SAFETY_CHECK_TYPE_BIO",
    },
)


def refused_once(problem: dict[str, str], out: Path) -> Any:
    """A run whose third request is refused with 403."""
    count = [0]

    def answer(route: str, body: dict[str, Any], headers: object) -> tuple[int, Any]:
        count[0] += 1
        return (403, problem) if count[0] == 3 else good(body)

    return played(answer, out)


@pytest.mark.parametrize("problem", FILTERED)
def test_only_the_call_fails(problem: dict[str, str], tmp_path: Path) -> None:
    run = refused_once(problem, tmp_path / "run")
    assert (run.outcome.finished, run.outcome.unusable) == (2, "")


def test_no_access_ends_the_run(tmp_path: Path) -> None:
    problem = {"code": "permission-denied", "error": "Access to the chat is denied"}
    run = refused_once(problem, tmp_path / "run")
    assert "refused the key (403)" in run.outcome.unusable
