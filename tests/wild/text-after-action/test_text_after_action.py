"""An action with a reason after it plays the same episode as the action alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import wayword

TAILS = (
    ". Then I will look around.",
    " because it is near",
    " # the nearest room",
    " (there may be a mug)",
    "</s>",
    "<|im_end|>",
)


def visited(answer: str, folder: Path) -> tuple[list[str], int]:
    """Feedback of each step of a home's episode, and the number of rejections."""
    script = folder / "answers.jsonl"
    script.write_text(
        (json.dumps(f"Thought: find it.\nAction: {answer}") + "\n") * 40, "utf-8"
    )
    result = wayword.run(
        "react",
        "household:generated_test",
        model=f"scripted:{script}",
        limit=1,
        max_steps=4,
        settings={"decoding": "free"},
        out=folder / "run",
    )
    (episode,) = result.episodes
    statuses = [step.feedback.status for step in episode.trajectory.steps]
    return statuses, statuses.count("rejected")


@pytest.mark.parametrize("tail", TAILS)
def test_a_reason_after_an_action_changes_nothing(tail: str, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    explained = tmp_path / "explained"
    plain.mkdir()
    explained.mkdir()
    assert visited(f"go_explore[kitchen]{tail}", explained) == visited(
        "go_explore[kitchen]", plain
    )
