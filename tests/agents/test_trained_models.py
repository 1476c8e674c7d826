"""Agents take the settings that a model's weights were trained with."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import wayword
from wayword.agents.strategies.agents import Act
from wayword.core.errors import UsageError
from wayword.models.parts.weights import trained_settings
from wayword.runs.opening import open_agent, open_dataset


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


@pytest.mark.parametrize("trained_for", ["act", "react", None])
def test_weights_that_were_trained_for_an_agent_need_no_settings_of_small_models(
    tmp_path: Path, trained_for: str | None
) -> None:
    """Other settings would change the prompts that they were trained with."""
    weights = tmp_path / "mine.gguf"
    weights.write_bytes(b"GGUF")
    if trained_for:
        record = {"agent": trained_for, "settings": {"own_state": "start"}}
        weights.with_suffix(".json").write_text(json.dumps(record))
    plan = wayword.Plan("act", "houses", f"local:{weights}", {"shots": 1})
    settings = open_agent(plan, open_dataset(plan)).settings
    usual = Act.Settings(shots=1)
    if trained_for == "act":
        assert settings == Act.Settings(shots=1, own_state="start")
    else:
        assert settings == replace(usual, **Act.small_model) != usual
