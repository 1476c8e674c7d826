"""From ``local:smollm2`` and a few settings to a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import cast

from wayword.core import registry
from wayword.core.errors import UsageError
from wayword.core.model import Model
from wayword.core.trajectory import ModelCall
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
    return cast(Model, part(name, checked))
