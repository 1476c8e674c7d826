"""The models of a run, one a role, with the run's wrappers around them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from wayword.core.model import Model
from wayword.core.trajectory import ModelCall
from wayword.experiment.plan import Plan
from wayword.models.opening import open_model
from wayword.models.wrapping import Options, wrap
from wayword.models.wrapping.budget import Account
from wayword.recording import RunFolder

Scores = Sequence[Mapping[str, float]]


def open_models(plan: Plan, specs: Mapping[str, str], before: Scores = ()) -> dict[str, Model]:
    """Role -> model, wrapped as the plan asks; roles of the same name share one model.

    ``before`` are the scores of the episodes finished earlier, whose tokens and dollars count
    towards the budget. Raises ``UsageError`` for a name or setting that does not exist.
    """
    options = Options(
        cache=plan.cache,
        retries=plan.retries,
        requests_per_minute=plan.requests_per_minute or 0,
        prices=plan.prices,
    )
    account = _account(plan, before)
    opened: dict[str, Model] = {}
    for spec in dict.fromkeys(specs.values()):
        opened[spec] = wrap(open_model(spec, plan.group("model"), _recorded), options, account)
    return {role: opened[spec] for role, spec in specs.items()}


def _account(plan: Plan, before: Scores) -> Account | None:
    if plan.tokens is None and plan.dollars is None:
        return None
    return Account(
        plan.tokens,
        plan.dollars,
        tokens=int(sum(s.get("prompt_tokens", 0) + s.get("completion_tokens", 0) for s in before)),
        dollars=sum(s.get("cost", 0.0) for s in before),
    )


def _recorded(folder: str) -> Iterable[ModelCall]:
    """The model calls of a run folder, for ``replay:RUN``."""
    for record in RunFolder.read(folder).records():
        yield from record.trajectory.calls()
