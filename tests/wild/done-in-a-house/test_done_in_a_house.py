"""Answers that name no action of the world are counted, and end nothing."""

from __future__ import annotations

import json
from pathlib import Path

import wayword


def test_done_is_a_counted_rejection_until_the_step_limit(tmp_path: Path) -> None:
    script = tmp_path / "answers.jsonl"
    answers = ["Action: done", "Action: terminate", "Thought: x\nAction: done"] * 20
    script.write_text("\n".join(map(json.dumps, answers)), "utf-8")
    result = wayword.run(
        "react",
        "household:generated_test",
        model=f"scripted:{script}",
        limit=1,
        max_steps=6,
        settings={"decoding": "free"},
        out=tmp_path / "run",
    )
    (episode,) = result.episodes
    assert [step.feedback.status for step in episode.trajectory.steps] == [
        "rejected"
    ] * 6
    assert episode.scores["sr"] == 0.0
