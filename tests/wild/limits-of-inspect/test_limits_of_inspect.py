"""Inspect's limits cut episodes off; they have scores, and count in every mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai")

from inspect_ai import eval as run
from inspect_ai.model import Model, ModelOutput, ModelUsage, get_model


def says(*words: str) -> Model:
    """A model that says these words in turn, 20 tokens each time."""
    outputs = []
    for one in words:
        output = ModelOutput.from_content("mockllm/model", one)
        output.usage = ModelUsage(input_tokens=10, output_tokens=10, total_tokens=20)
        outputs.append(output)
    return get_model("mockllm/model", custom_outputs=outputs)


@pytest.mark.parametrize(
    ("limit", "steps"),
    [({"message_limit": 5}, 2), ({"token_limit": 35}, 1), ({"turn_limit": 1}, 1)],
)
def test_a_sample_that_a_limit_ends_is_scored(
    limit: dict[str, Any], steps: int, tmp_path: Path
) -> None:
    (log,) = run(
        "wayword/two_phase", model=says(*["dance"] * 8), max_samples=1, display="none",
        task_args={"count": 2}, log_dir=str(tmp_path), **limit,
    )  # fmt: skip
    assert log.status == "success"
    assert log.results is not None
    assert log.samples is not None
    for sample in log.samples:
        assert sample.limit is not None
        assert sample.scores is not None
        expected = {"sr": 0.0, "steps": steps, "rejections": steps}
        assert sample.scores["family"].value == expected
    assert {score.scored_samples for score in log.results.scores} == {2}
