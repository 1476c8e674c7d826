"""From ``local:smollm2`` and a few settings to a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from wayword.core import registry
from wayword.core.errors import UsageError
from wayword.core.files import sha256
from wayword.core.model import Model, Wrapper
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

ReadCalls = Callable[[str], Iterable[ModelCall]]
"""Reads the model calls of a run folder, for ``replay:RUN``."""


_GIVEN: ContextVar[Model | None] = ContextVar("model object of a run", default=None)


class BorrowedModel(Wrapper):
    """A model object of the caller's, which stays open after the run."""

    async def aclose(self) -> None:
        """Do nothing."""


@contextmanager
def given_model(model: Model | str) -> Iterator[None]:
    """Within, :func:`open_model` gives this model object for its own name; no effect for names."""
    token = _GIVEN.set(None if isinstance(model, str) else model)
    try:
        yield
    finally:
        _GIVEN.reset(token)


def open_model(
    spec: str, settings: Mapping[str, object] | None = None, recorded: ReadCalls | None = None
) -> Model:
    """The model a spec names: ``kind:name``, such as ``local:smollm2`` or ``openai:gpt-5.1``.

    A model part is a class built as ``cls(name, settings)``, with its settings as the frozen
    dataclass ``Settings``. ``recorded`` is what ``replay:RUN`` reads its answers with. Raises
    ``UsageError`` for a kind, name or setting that does not exist or does not fit.
    """
    given = _GIVEN.get()
    if given is not None and spec == given.name:
        return BorrowedModel(given)
    kind, colon, name = spec.partition(":")
    if not colon or not name:
        raise UsageError(f"model {spec!r} is not of the form kind:name; {_guess(kind)}")
    if kind in _PROVIDERS.values():
        raise UsageError(f"model {spec!r}: write inspect:{kind}/{name}")
    part = registry.load("model", kind)
    part_settings = make(part.Settings, settings or {}, f"model {spec}")
    if kind == "replay":
        if recorded is None:
            raise UsageError(f"model {spec}: no way to read a run folder was given")
        return cast(Model, part(name, part_settings, calls=recorded(name)))
    model = cast(Model, part(name, part_settings))
    if registry.is_path(kind):  # the file's content decides about the answers, too
        checksums = [sha256(file) for file in sorted(Path(kind).rglob("*.py")) or [Path(kind)]]
        vars(model)["identity"] = f"{model.identity} {' '.join(checksums)} {part_settings}"
    return model


_PROVIDERS = {"claude": "anthropic", "gemini": "google", "grok": "grok", "mistral": "mistral"}
"""The provider of Inspect for names that begin so."""


def _guess(name: str) -> str:
    """A hint for a model's name without its kind, or a kind without a name."""
    from wayword.models.parts.weights import local_names

    kinds = registry.names("model")
    if name in kinds:
        return f"add a name, as in {name}:NAME"
    kind = "hf:" if "/" in name else "openai:"
    for start, provider in _PROVIDERS.items():
        kind = f"inspect:{provider}/" if name.startswith(start) else kind
    if name in local_names() or name.endswith(".gguf"):
        kind = "local:"
    return f"did you mean {kind + name!r}? Kinds: {', '.join(kinds)}"


@dataclass(frozen=True, slots=True)
class Options:
    """Which wrappers, and how. Zero or None leaves one out.

    ``cache`` is the file of cached answers. ``retries`` counts attempts after the first; with 0
    a model that refuses every call still ends the run.
    ``requests_per_minute`` limits the rate. ``prices`` is a file of the user's own prices on top
    of the shipped ones. The budget is an ``Account``, given apart, as all models of a run share it.
    """

    cache: Path | None = None
    retries: int = 5
    requests_per_minute: float = 0
    prices: Path | None = None


class ModelPair(Model):
    """A small and a large model behind one name; :func:`wrap` puts wrappers around each."""

    small: Model
    large: Model


def wrap(
    model: Model,
    options: Options | None = None,
    account: Account | None = None,
    limiter: Turns | None = None,
) -> Model:
    """The model with the wrappers asked for. Closing the result closes the model.

    From the outside in: the cache (a cached answer costs no budget, no waiting and no request), the
    budget, which also prices the answer, retries, and the rate limit, for each attempt.
    ``limiter`` replaces the model's own, where several processes share a rate.
    """
    if isinstance(model, ModelPair):
        parts = (wrap(each, options, account, limiter) for each in (model.small, model.large))
        model.small, model.large = parts
        return model
    given = options or Options()
    price = load_prices(given.prices).of(model.name)
    wrapped = model
    if given.requests_per_minute:
        wrapped = RateLimitedModel(wrapped, limiter or Limiter(given.requests_per_minute))
    on_retry = None if account is None else account.retried
    wrapped = RetryingModel(wrapped, RetryPolicy(given.retries), on_retry)
    wrapped = PaidModel(wrapped, account, price)
    if given.cache is not None:
        from wayword.models.middleware.cache import AnswerCache, CachedModel

        wrapped = CachedModel(wrapped, AnswerCache(given.cache))
    return wrapped
