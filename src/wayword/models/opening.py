"""From ``local:smollm2`` and a few settings to a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any, cast

from wayword.core import registry
from wayword.core.errors import UsageError, suggest
from wayword.core.model import Model
from wayword.core.trajectory import ModelCall

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
    checked = settings_of(part.Settings, settings or {}, f"model {spec}")
    if kind == "replay":
        if recorded is None:
            raise UsageError(f"model {spec}: no way to read a run folder was given")
        return cast(Model, part(name, checked, calls=recorded(name)))
    return cast(Model, part(name, checked))


def settings_of(kind: type[Any], given: Mapping[str, object], whose: str) -> Any:
    """An instance of the settings dataclass. Raises ``UsageError``; text becomes numbers."""
    from pydantic import TypeAdapter, ValidationError

    known = [field.name for field in fields(kind)]
    for name in given:
        if name not in known:
            raise UsageError(f"{whose} has no setting {name!r}; {suggest(name, known)}")
    try:
        return TypeAdapter(kind).validate_python(dict(given))
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(str(step) for step in problem["loc"])
        said = problem["msg"].removeprefix("Value error, ")
        reason = f"setting {where!r}: {said}, not {problem['input']!r}" if where else said
        raise UsageError(f"{whose}: {reason}") from None
