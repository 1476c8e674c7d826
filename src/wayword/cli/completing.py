"""Shell completion of agents, datasets, splits, models and settings.

``wayword --install-completion`` installs it for bash, zsh, fish or PowerShell. Because bash splits
words at colons, full names of splits and models are offered as soon as the dataset or backend is
complete.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

import typer


def _starting(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def agents(incomplete: str) -> list[str]:
    """Registered agents."""
    from wayword.core import registry

    return _starting(registry.names("agent"), incomplete)


def datasets(incomplete: str) -> list[str]:
    """Registered datasets, and the splits of the one on the line."""
    from wayword.runs import catalogue

    return _starting(catalogue.datasets_named(incomplete), incomplete)


def models(incomplete: str) -> list[str]:
    """Model backends and the models on this machine."""
    from wayword.runs import catalogue

    return _starting(catalogue.models_named(), incomplete)


def settings(ctx: typer.Context, incomplete: str) -> list[str]:
    """Settings of the agent and dataset that are on the command line so far, as ``KEY=`` or, if
    their values are enumerable, ``KEY=VALUE``."""
    from wayword.core import registry
    from wayword.runs import catalogue

    # The parser reads the options of an incomplete line, but not the agent before them.
    words = os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS", "")
    agents = registry.names("agent")
    agent = next((word for word in words.split() if word in agents), "")
    on = ctx.params.get("on") or ""
    pairs = catalogue.settings_of(agent, on if isinstance(on, str) else on[0])
    return _starting(pairs, incomplete)
