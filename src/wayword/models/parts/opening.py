"""Open a model by name (``local:smollm2``), with settings and wrappers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from wayword.core import registry
from wayword.core.errors import UsageError
from wayword.core.files import sha256
from wayword.core.model import Model, Wrapper
from wayword.core.trajectory import ModelCall
from wayword.models.middleware import rate
from wayword.models.middleware.budget import Account, PaidModel
from wayword.models.middleware.prices import load_prices
from wayword.settings import make

ReadCalls = Callable[[str], Iterable[ModelCall]]
"""Reads the model calls of a run folder, for ``replay:RUN``."""


_CALLER_MODEL: ContextVar[Model | None] = ContextVar(
    "model object of a run",
    default=None,
)


class BorrowedModel(Wrapper):
    """A model object of the caller, which stays open after the run."""

    async def aclose(self) -> None:
        """Do nothing: the caller closes the model."""


@contextmanager
def use_model(model: Model | str) -> Iterator[None]:
    """Make :func:`open_model` return this model object for its name inside a ``with`` block. A
    string has no effect."""
    borrowed = None
    if isinstance(model, Model):
        borrowed = model
    token = _CALLER_MODEL.set(borrowed)
    try:
        yield
    finally:
        _CALLER_MODEL.reset(token)


def open_model(
    spec: str,
    settings: Mapping[str, object] | None = None,
    recorded: ReadCalls | None = None,
) -> Model:
    """Open the model ``backend:name``, such as ``local:smollm2`` or ``openai:gpt-5.1``.

    A backend is a class built as ``cls(name, settings)``, where ``settings`` is an instance of its
    frozen dataclass ``Settings``. ``recorded`` reads the answers for ``replay:RUN``. Raises
    ``UsageError`` for an unknown backend, name or setting, or an invalid value.
    """
    caller_model = _CALLER_MODEL.get()
    if caller_model is not None and spec == caller_model.name:
        return BorrowedModel(caller_model)
    backend, colon, name = spec.partition(":")
    if not colon or not name:
        raise UsageError(
            f"model {spec!r} is not of the form backend:name; {_suggestion(backend)}"
        )
    if backend in _PROVIDERS.values():
        raise UsageError(
            f"unknown backend in {spec!r}; did you mean inspect:{backend}/{name}?"
        )
    cls = registry.load("model", backend)
    parsed = make(cls.Settings, settings or {}, f"model {spec}")
    if backend == "replay":
        if recorded is None:
            raise UsageError(f"model {spec}: replay works only inside a run")
        return cast(Model, cls(name, parsed, calls=recorded(name)))
    model = cast(Model, cls(name, parsed))
    # Answers depend on the code as well: cache them separately.
    if registry.is_path(backend):
        files = sorted(Path(backend).rglob("*.py")) or [Path(backend)]
        checksums = " ".join(map(sha256, files))
        identity = f"{model.identity} {checksums} {parsed}"
        # In a subclass: the user's class may have a property, which hides an instance's attribute.
        own = {"identity": property(lambda _: identity), "__module__": cls.__module__}
        model.__class__ = type(cls.__name__, (cls,), own)
    return model


_PROVIDERS = {
    "claude": "anthropic",
    "gemini": "google",
    "grok": "grok",
    "mistral": "mistral",
}
"""Inspect's provider for models by the beginning of their name."""


def _suggestion(name: str) -> str:
    """Return a hint for a model name without its backend, or a backend without a name."""
    from wayword.models.parts.weights import local_model_names

    backends = registry.names("model")
    if name in backends:
        return f"add a name, as in {name}:NAME"
    prefix = "openai:"
    if "/" in name:
        prefix = "hf:"
    for start, provider in _PROVIDERS.items():
        if name.startswith(start):
            prefix = f"inspect:{provider}/"
    if name in local_model_names() or name.endswith(".gguf"):
        prefix = "local:"
    return f"did you mean {prefix + name!r}? Backends: {', '.join(backends)}"


@dataclass(frozen=True)
class Options:
    """Options of the wrappers around a model; zero or None leaves a wrapper out.

    ``cache`` is the file of cached answers. ``retries`` counts attempts after the first; with 0,
    a model that refuses every call still ends the run. ``requests_per_minute`` limits the rate.
    ``prices`` is a file of custom prices, which override the shipped ones. The budget is not one
    of them: it is an ``Account`` that all models of a run share.
    """

    cache: Path | None = None
    retries: int = 5
    requests_per_minute: float = 0
    prices: Path | None = None


class ModelPair(Model):
    """A small and a large model under one name; :func:`wrap` wraps each of them."""

    small: Model
    large: Model

    def keep_in(self, file: Path) -> None:
        self.small.keep_in(file)
        self.large.keep_in(file)


def wrap(
    model: Model,
    options: Options | None = None,
    account: Account | None = None,
    limiter: rate.RateLimit | None = None,
) -> Model:
    """Wrap a model. Closing the result closes the model.

    From the outside in: the cache (a cached answer needs no budget and no request), the budget,
    which also prices the answer, retries, and the rate limit, which applies to each attempt.
    ``limiter`` replaces the model's own if several processes share a rate.
    """
    if isinstance(model, ModelPair):
        pair = (
            wrap(each, options, account, limiter) for each in (model.small, model.large)
        )
        model.small, model.large = pair
        return model
    options = options or Options()
    address = str(getattr(model, "address", ""))
    price = load_prices(options.prices).of(model.name, address)
    # From the inside out.
    wrapped = model
    if options.requests_per_minute:
        wrapped = rate.RateLimitedModel(
            wrapped,
            limiter or rate.Limiter(options.requests_per_minute),
        )
    on_retry = None
    if account is not None:
        on_retry = account.desk.retried
    policy = rate.RetryPolicy(options.retries)
    patience = getattr(model, "patience", policy.patience)
    if patience != policy.patience:
        # A tier without capacity is waited for, also before its first answer.
        policy = replace(policy, patience=patience, waits_at_first=True)
    wrapped = rate.RetryingModel(wrapped, policy, on_retry)
    gathered = bool(getattr(model, "gathered", False))
    # Only a user's own backend may state the cost of its answers: servers state tokens.
    is_own = not type(model).__module__.startswith("wayword.")
    is_own = is_own or isinstance(model, BorrowedModel)
    wrapped = PaidModel(wrapped, account, price, gathered, may_state_cost=is_own)
    if options.cache is not None:
        from wayword.models.middleware.cache import AnswerCache, CachedModel

        wrapped = CachedModel(wrapped, AnswerCache(options.cache))
    return wrapped
