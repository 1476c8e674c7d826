"""The models of a run, one a role, with the run's wrappers around them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from wayword.core.model import Model
from wayword.core.trajectory import ModelCall
from wayword.experiment.plan import Plan
from wayword.models.opening import open_model
from wayword.models.wrapping import Options, wrap
from wayword.models.wrapping.budget import Account
from wayword.recording import RunFolder, sessions


def open_models(
    plan: Plan, specs: Mapping[str, str], account: Account | None = None
) -> dict[str, Model]:
    """Role -> model, wrapped as the plan asks; roles of the same name share one model.

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
    for spec in dict.fromkeys(specs.values()):
        opened[spec] = wrap(open_model(spec, plan.group("model"), _recorded), options, account)
    return {role: opened[spec] for role, spec in specs.items()}


def open_account(plan: Plan, run: RunFolder) -> Account:
    """The plan's budget, less what earlier sessions spent, on dropped episodes too."""
    finished = [scores for _, scores in run.scores()]
    dropped = list(sessions(run.path))
    return Account(
        plan.tokens,
        plan.dollars,
        tokens=sum(map(tokens_of, finished)) + sum(s.dropped_tokens for s in dropped),
        dollars=sum(s.get("cost", 0.0) for s in finished) + sum(s.dropped_dollars for s in dropped),
    )


def tokens_of(scores: Mapping[str, float]) -> int:
    """All tokens of an episode, read and written."""
    return int(scores.get("prompt_tokens", 0) + scores.get("completion_tokens", 0))


def _recorded(folder: str) -> Iterable[ModelCall]:
    """The model calls of a run folder, for ``replay:RUN``."""
    for record in RunFolder.read(folder).records():
        yield from record.trajectory.calls()
