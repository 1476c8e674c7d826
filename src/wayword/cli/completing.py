"""What a shell offers where a value stands: names of parts, splits, models, settings.

``wayword --install-completion`` puts it into bash, zsh, fish or PowerShell. Bash breaks words at
colons, so that whole splits and models are offered as soon as one dataset or backend is named.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

import typer


def agents(incomplete: str) -> list[str]:
    """Registered agents."""
    from wayword.core import registry

    return _begun(incomplete, registry.names("agent"))


def datasets(incomplete: str) -> list[str]:
    """Registered datasets; the splits of the one that is named."""
    from wayword.runs import catalogue

    return _begun(incomplete, catalogue.datasets_named(incomplete))


def models(incomplete: str) -> list[str]:
    """Backends of models, and the models that are on this machine."""
    from wayword.runs import catalogue

    return _begun(incomplete, catalogue.models_named())


def settings(ctx: typer.Context, incomplete: str) -> list[str]:
    """``KEY=`` for the settings of the agent and the dataset that the line has so far; with their
    values where there are few."""
    from wayword.core import registry
    from wayword.runs import catalogue

    # Of an unfinished line the parser reads the options alone, not the agent before them.
    words = os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS", "")
    known = registry.names("agent")
    agent = next((word for word in words.split() if word in known), "")
    return _begun(incomplete, catalogue.settings_of(agent, str(ctx.params.get("on") or "")))


def _begun(incomplete: str, known: Iterable[str]) -> list[str]:
    return [each for each in known if each.startswith(incomplete)]
