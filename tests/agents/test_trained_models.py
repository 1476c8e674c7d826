"""The trained language models in the package: they find their way where they never were."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import wayword
from wayword.core.errors import UsageError
from wayword.models.parts.weights import trained_settings
from wayword.runs import RunFolder
from wayword.viewer import write

pytest.importorskip("xllamacpp")


@pytest.mark.parametrize(
    ("agent", "on", "metric", "episodes", "least"),
    [
        ("walker", "houses:test", "sr", 5, 4),
        ("velma", "towns:test", "tc", 3, 2),
    ],
)
def test_they_find_their_way_in_generated_places(
    agent: str, on: str, metric: str, episodes: int, least: int, tmp_path: Path
) -> None:
    """All of these when the weights were made; a plain walker finds one or none."""
    out = tmp_path / "run"
    plan = wayword.Plan(agent, on, f"local:{agent}", limit=episodes, out=out)
    result = wayword.run(plan)
    records = list(RunFolder.read(result.path).records())
    scores = [record.scores[metric] for record in records]
    assert len(scores) == episodes
    assert sum(scores) >= least
    page = next((write(result.path).parent / "episodes").glob("*.html")).read_text("utf-8")
    assert "?</p>" in page, "what was asked stands above the ranked answers"
    for record in records:
        usage = [call.answer.usage for call in record.trajectory.calls() if call.answer]
        evaluated = sum(each.prompt - each.reused for each in usage)
        assert evaluated < 1.2 * usage[-1].prompt, "the prompt is read once, but for cut tokens"


def test_an_agent_is_asked_in_the_words_that_the_weights_were_trained_with() -> None:
    plan = wayword.Plan("velma", "towns", "local:velma")
    assert plan.agent_settings() == {"shots": 0, "follow": True}
    given = wayword.Plan("velma", "towns", "local:velma", {"follow": False})
    assert given.agent_settings() == {"shots": 0, "follow": False}
    assert trained_settings("local:velma", "walker") == {}
    for other in ("local:smollm2", "local:", "local:.", "", "openai:velma"):
        assert trained_settings(other, "velma") == {}


def test_settings_lie_beside_weights_of_ones_own(tmp_path: Path) -> None:
    own = f"local:{tmp_path / 'mine.gguf'}"
    assert trained_settings(own, "walker") == {}
    (tmp_path / "mine.json").write_text(json.dumps({"agent": "walker", "settings": {"words": 3}}))
    assert trained_settings(own, "walker") == {"words": 3}
    (tmp_path / "mine.json").write_text('{"layers": 6}')
    assert trained_settings(own, "walker") == {}, "another program's file"
    (tmp_path / "mine.json").write_text('{"agent": "walker", "settings": 3}')
    with pytest.raises(UsageError, match=r"mine.json: not the settings of trained weights"):
        trained_settings(own, "walker")
