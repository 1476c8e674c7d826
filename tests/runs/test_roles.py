"""The models of roles: which of them share a model, and whose settings each has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from wayword.models.middleware.rate import Limiter
from wayword.runs.opening import model_choices, open_agent, open_dataset, open_models
from wayword.runs.plan import Plan

SCRIPT = "scripted:first"


def chosen(models: Mapping[str, Any]) -> Mapping[str, tuple[str, Mapping[str, Any]]]:
    """The models of an agent with two roles; the main one has a setting."""
    settings = {"model": {"length": 9}, "summaries": "online", "models": models}
    plan = Plan("navgpt", "houses", SCRIPT, settings)
    return model_choices(plan, open_agent(plan, open_dataset(plan)))


@pytest.mark.parametrize(
    ("summary", "settings"),
    [
        (SCRIPT, {"length": 9}),
        ({"name": SCRIPT}, {"length": 9}),
        ({"length": 3}, {"length": 3}),
        ("scripted:noise", {}),
        ({"name": "scripted:noise", "length": 3}, {"length": 3}),
    ],
)
def test_only_a_role_with_the_main_model_and_no_setting_has_its_settings(
    summary: Any, settings: Mapping[str, Any]
) -> None:
    models = chosen({"summary": summary})
    assert models["main"] == (SCRIPT, {"length": 9})
    assert models["summary"][1] == settings


def test_roles_share_a_model_if_its_name_and_its_settings_are_equal() -> None:
    limited: list[str] = []

    def limiter(model: str) -> Limiter:
        limited.append(model)
        return Limiter()

    choices = {
        "main": (SCRIPT, {"length": 9}),
        "equal": (SCRIPT, {"length": 9}),
        "longer": (SCRIPT, {"length": 10}),
        "other": ("scripted:noise", {"length": 9}),
    }
    plan = Plan("navgpt", "houses", SCRIPT)
    models = open_models(plan, choices, limiter=limiter)
    assert models["equal"] is models["main"]
    assert len({id(model) for model in models.values()}) == 3
    assert len(set(limited)) == len(limited) == 3, "a rate limit for each model"
