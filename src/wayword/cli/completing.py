"""Shell completion of agents, datasets, splits and models.

``wayword --install-completion`` installs it for bash, zsh, fish or PowerShell. Because bash splits
words at colons, full names of splits and models are offered as soon as the dataset or backend is
complete.
"""

from __future__ import annotations

from collections.abc import Iterable


def _starting(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def agents(incomplete: str) -> list[str]:
    """Registered agents."""
    from wayword.core import registry

    return _starting(registry.names("agent"), incomplete)


def datasets(incomplete: str) -> list[str]:
    """Registered datasets, and the splits of the one on the line."""
    from wayword.runs import catalog

    return _starting(catalog.datasets_named(incomplete), incomplete)


def models(incomplete: str) -> list[str]:
    """Model backends and the models on this machine."""
    from wayword.runs import catalog

    return _starting(catalog.models_named(), incomplete)
