"""Agents take the settings that a model's weights were trained with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import wayword
from wayword.core.errors import UsageError
from wayword.models.parts.weights import trained_settings


def test_an_agent_is_queried_in_the_words_that_the_weights_were_trained_with() -> None:
    plan = wayword.Plan("velma", "towns", "regression:velma")
    assert plan.agent_settings() == {"shots": 0, "follow": True}
    given = wayword.Plan("velma", "towns", "regression:velma", {"follow": False})
    assert given.agent_settings() == {"shots": 0, "follow": False}
    assert trained_settings("regression:velma", "walker") == {}
    for other in (
        "local:smollm2",
        "local:",
        "local:.",
        "",
        "openai:velma",
        "regression:",
        "local:velma",
    ):
        assert trained_settings(other, "velma") == {}


def test_settings_lie_next_to_weights_of_ones_own(tmp_path: Path) -> None:
    own = f"local:{tmp_path / 'mine.gguf'}"
    assert trained_settings(own, "walker") == {}
    (tmp_path / "mine.json").write_text(
        json.dumps({"agent": "walker", "settings": {"words": 3}})
    )
    assert trained_settings(own, "walker") == {"words": 3}
    (tmp_path / "mine.json").write_text('{"layers": 6}')
    assert trained_settings(own, "walker") == {}, "another program's file"
    (tmp_path / "mine.json").write_text('{"agent": "walker", "settings": 3}')
    with pytest.raises(
        UsageError, match=r"mine.json: not the settings of trained weights"
    ):
        trained_settings(own, "walker")
