"""From ``local:smollm2`` and a few settings to a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from wayword.core import registry
from wayword.core.errors import UsageError
from wayword.core.files import sha256
from wayword.core.model import Model
from wayword.core.trajectory import ModelCall
from wayword.models.middleware.budget import Account, PaidModel
from wayword.models.middleware.prices import load_prices
from wayword.models.middleware.rate import (
    Limiter,
    RateLimitedModel,
    RetryingModel,
    RetryPolicy,
    Turns,
)
from wayword.settings import make

Recorded = Callable[[str], Iterable[ModelCall]]
"""Reads the model calls of a run folder, for ``replay:RUN``."""


def open_model(
    spec: str, settings: Mapping[str, object] | None = None, recorded: Recorded | None = None
) -> Model:
    """The model a spec names: ``kind:name``, such as ``local:smollm2`` or ``openai:gpt-5.1``.

    A model part is a class built as ``cls(name, settings)``, with its settings as the frozen
    dataclass ``Settings``. ``recorded`` is what ``replay:RUN`` reads its answers with. Raises
    ``UsageError`` for a kind, name or setting that does not exist or does not fit.
    """
    kind, colon, name = spec.partition(":")
    if not colon or not name:
        known = ", ".join(f"{kind}:…" for kind in registry.names("model"))
        raise UsageError(f"model {spec!r} is not of the form kind:name; there are: {known}")
    part = registry.load("model", kind)
    checked = make(part.Settings, settings or {}, f"model {spec}")
    if kind == "replay":
        if recorded is None:
            raise UsageError(f"model {spec}: no way to read a run folder was given")
        return cast(Model, part(name, checked, calls=recorded(name)))
    model = cast(Model, part(name, checked))
    if registry.is_path(kind):  # the file's content decides about the answers, too
        own = [sha256(file) for file in sorted(Path(kind).rglob("*.py")) or [Path(kind)]]
        vars(model)["identity"] = f"{model.identity} {' '.join(own)} {checked}"
    return model


# Wrappers: a model around a model, in the order that ``wrap`` puts them on, from the outside in:
#     cache     an answer known already is free: no budget, no waiting, no request
#     budget    stops before a request that the run can no longer pay for, and prices the answer
#     retry     asks again after failures that may pass
#     rate      every attempt waits its turn, the repeated ones too


@dataclass(frozen=True, slots=True)
class Options:
    """Which wrappers, and how. Zero or None leaves one out.

    ``cache`` is the file of cached answers. ``retries`` counts attempts after the first; with 0
    a model that refuses every call still ends the run.
    ``requests_per_minute`` limits the rate. ``prices`` is a file of the user's own prices beside
    the shipped ones. The budget is an ``Account``, given apart, because all models of a run share
    it.
    """

    cache: Path | None = None
    retries: int = 5
    requests_per_minute: float = 0
    prices: Path | None = None


def wrap(
    model: Model,
    options: Options | None = None,
    account: Account | None = None,
    limiter: Turns | None = None,
) -> Model:
    """The model with the wrappers asked for. Closing the result closes the model.

    ``limiter`` replaces the model's own, where several processes share a rate.
    """
    given = options or Options()
    price = load_prices(given.prices).of(model.name)
    wrapped = model
    if given.requests_per_minute:
        wrapped = RateLimitedModel(wrapped, limiter or Limiter(given.requests_per_minute))
    told = None if account is None else account.retried
    wrapped = RetryingModel(wrapped, RetryPolicy(given.retries), told)
    wrapped = PaidModel(wrapped, account, price)
    if given.cache is not None:
        from wayword.models.middleware.cache import AnswerCache, CachedModel

        wrapped = CachedModel(wrapped, AnswerCache(given.cache))
    return wrapped
