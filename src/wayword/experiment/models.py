"""The models of a run, one a role, with the run's wrappers around them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from wayword.core.model import Model
from wayword.core.trajectory import ModelCall
from wayword.experiment.plan import Plan
from wayword.models.opening import open_model
from wayword.models.wrapping import Options, wrap
from wayword.models.wrapping.budget import Account
from wayword.recording import RunFolder, sessions

Choices = Mapping[str, tuple[str, Mapping[str, Any]]]
"""Role -> a model's name and settings."""


def open_models(plan: Plan, choices: Choices, account: Account | None = None) -> dict[str, Model]:
    """Role -> model, wrapped as the plan asks; roles with the same model share one.

    ``account`` adds up what is spent and holds the budget. Raises ``UsageError`` for a name or
    setting that does not exist.
    """
    options = Options(
        cache=plan.cache,
        retries=plan.retries,
        requests_per_minute=plan.requests_per_minute or 0,
        prices=plan.prices,
    )
    opened: dict[str, Model] = {}
    models: dict[str, Model] = {}
    for role, (name, settings) in choices.items():
        key = f"{name} {sorted(settings.items())!r}"
        if key not in opened:
            opened[key] = wrap(open_model(name, settings, _recorded), options, account)
        models[role] = opened[key]
    return models


def add_earlier(account: Account, run: RunFolder) -> None:
    """Count what earlier sessions of the run spent, on dropped episodes too."""
    finished = [scores for _, scores in run.scores()]
    before = list(sessions(run.path))
    account.tokens += sum(map(tokens_of, finished)) + sum(s.dropped_tokens for s in before)
    account.dollars += sum(s.get("cost", 0.0) for s in finished)
    account.dollars += sum(s.dropped_dollars for s in before)


def tokens_of(scores: Mapping[str, float]) -> int:
    """All tokens of an episode, read and written."""
    return int(scores.get("prompt_tokens", 0) + scores.get("completion_tokens", 0))


def _recorded(folder: str) -> Iterable[ModelCall]:
    """The model calls of a run folder, for ``replay:RUN``."""
    for record in RunFolder.read(folder).records():
        yield from record.trajectory.calls()
