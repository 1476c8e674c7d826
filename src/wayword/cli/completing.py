"""Shell completion of agents, datasets, splits and models.

``wayword --install-completion`` installs it for bash, zsh, fish or PowerShell. Because bash splits
words at colons, full names of splits and models are offered as soon as the dataset or backend is
complete. Typer offers those names that start with what was typed.
"""

from __future__ import annotations


def agents() -> list[str]:
    """Return the registered agents."""
    from wayword.core import registry

    return registry.names("agent")


def datasets(incomplete: str) -> list[str]:
    """Return the registered datasets, and the splits of the one on the line."""
    from wayword.core import registry

    names = registry.names("dataset")
    # A split is offered only when the dataset is certain: loading all takes too long
    # for a key press.
    name = incomplete.partition(":")[0]
    if name in names:
        meant = [name]
    else:
        meant = [each for each in names if each.startswith(incomplete)]
    # Several datasets begin like this, so no splits yet.
    if len(meant) != 1:
        return names
    return [
        *names,
        *(f"{meant[0]}:{split}" for split in registry.load("dataset", meant[0]).splits),
    ]


def models() -> list[str]:
    """Return local and scripted models on this machine, and prefixes of the model backends."""
    from wayword.core import registry
    from wayword.models.parts.weights import local_model_names, regression_model_names

    local = [f"local:{name}" for name in local_model_names()]
    local += [f"regression:{name}" for name in regression_model_names()]
    local += ["scripted:first", "scripted:noise", "scripted:echo"]
    return [*local, *(f"{name}:" for name in registry.names("model"))]
