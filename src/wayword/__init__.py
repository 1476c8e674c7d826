"""Wayword: language-model agents that find their way.

    import wayword

    result = wayword.run("navgpt", "houses", "openai:gpt-5-mini", limit=20)
    print(result.table())
    result.to_dataframe()
    print(result.compare(wayword.run("random", "houses", limit=20)))

``run_async`` is the coroutine version of ``run``, a ``Plan`` is a run that has not started, and
``RunResult.read(folder)`` is the result of an earlier run. ``wayword.core`` has the base classes of
agents, datasets and models; ``wayword.envs.make`` opens a world as a training environment.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wayword import core, envs
    from wayword.core import Agent, Dataset, Model, World
    from wayword.runs.calling import run, run_async
    from wayword.runs.plan import Plan
    from wayword.runs.results import RunResult

__version__ = "0.1.0"
__all__ = [
    "Agent",
    "Dataset",
    "Model",
    "Plan",
    "RunResult",
    "World",
    "__version__",
    "core",
    "envs",
    "run",
    "run_async",
]
_HOMES = {
    **dict.fromkeys(("Agent", "Dataset", "Model", "World"), "wayword.core"),
    **dict.fromkeys(("Plan", "RunResult", "run", "run_async"), "wayword.runs"),
}
"""Public names by the package that defines them."""
_OF_RESULTS = ("compare", "plot", "table", "to_dataframe", "to_latex", "view")
"""Methods of results that people look for here."""


def __getattr__(name: str) -> Any:
    """Load the public names at their first use, which keeps ``import wayword`` fast."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in __all__:  # a package
        return import_module(f"wayword.{name}")
    hint = ""
    if name in ("load", "read"):
        hint = "; write wayword.RunResult.read(FOLDER)"
    elif name in ("make", "make_vec"):
        hint = (
            f'; write wayword.envs.make("houses"), or gymnasium.{name}("{_GYMNASIUM}")'
        )
    elif name in _OF_RESULTS:
        hint = f"; write wayword.RunResult.read(FOLDER).{name}(…)"
    elif name in import_module("wayword.core").__all__:
        hint = f"; write wayword.core.{name}"
    raise AttributeError(f"module 'wayword' has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    return sorted(__all__)  # includes names that are not loaded yet


_GYMNASIUM = "wayword.envs.gymnasium:Wayword-v0"
"""Name by which Gymnasium makes environments, in any order of imports."""


def _register_gymnasium(gymnasium: Any) -> None:
    """Register the environment, unless this was done."""
    name = "Wayword-v0"
    module = "wayword.envs.gymnasium"
    if name not in gymnasium.registry:
        gymnasium.register(
            id=name,
            entry_point=f"{module}:WaywordEnv",
            vector_entry_point=f"{module}:vector",
        )


# ``gymnasium.make("wayword:Wayword-v0")`` imports ``wayword`` and then expects the id to be
# registered. Gymnasium itself is not imported here: that takes longer than all of Wayword. In a
# program that imports it later, ``wayword.envs.gymnasium`` registers the id.
if "gymnasium" in sys.modules:
    _register_gymnasium(sys.modules["gymnasium"])
