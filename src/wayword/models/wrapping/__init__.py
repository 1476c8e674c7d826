"""Wrappers: a model around a model. From the outside in:

    cache     an answer known already is free: no budget, no waiting, no request
    budget    stops before a request that the run can no longer pay for
    retry     asks again after failures that may pass
    rate      every attempt waits its turn, the repeated ones too
    pricing   puts a price on the answer, so that the budget can add it up

``wrap`` puts on those that the options ask for, in this order.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wayword.core.model import Model
from wayword.models.wrapping.budget import Account, BudgetedModel
from wayword.models.wrapping.cache import AnswerCache, CachedModel
from wayword.models.wrapping.pricing import PricedModel, load_prices
from wayword.models.wrapping.rate import Limiter, RateLimitedModel
from wayword.models.wrapping.retry import RetryingModel, RetryPolicy


@dataclass(frozen=True, slots=True)
class Options:
    """Which wrappers, and how. Zero or None leaves one out.

    ``cache`` is the file of cached answers. ``retries`` counts attempts after the first.
    ``requests_per_minute`` and ``tokens_per_minute`` limit the rate. ``prices`` is a file of the
    user's own prices beside the shipped ones. The budget is an ``Account``, given apart, because
    all models of a run share it.
    """

    cache: Path | None = None
    retries: int = 5
    requests_per_minute: float = 0
    tokens_per_minute: float = 0
    prices: Path | None = None


def wrap(model: Model, options: Options | None = None, account: Account | None = None) -> Model:
    """The model with the wrappers asked for. Closing the result closes the model."""
    given = options or Options()
    wrapped: Model = PricedModel(model, load_prices(given.prices))
    if given.requests_per_minute or given.tokens_per_minute:
        limiter = Limiter(given.requests_per_minute, given.tokens_per_minute)
        wrapped = RateLimitedModel(wrapped, limiter)
    if given.retries:
        wrapped = RetryingModel(wrapped, RetryPolicy(given.retries))
    if account is not None:
        wrapped = BudgetedModel(wrapped, account)
    if given.cache is not None:
        wrapped = CachedModel(wrapped, AnswerCache(given.cache))
    return wrapped
