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
from importlib.machinery import PathFinder
from types import ModuleType
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


def __getattr__(name: str) -> Any:
    """Load the public names at their first use, which keeps ``import wayword`` fast."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in __all__:  # a package
        return import_module(f"wayword.{name}")
    raise AttributeError(f"module 'wayword' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)  # includes names that are not loaded yet


class _GymnasiumHook:
    """Import hook that registers the environment as soon as Gymnasium is imported.

    ``gymnasium.make("wayword:Wayword-v0")`` imports ``wayword`` and then expects the id to be
    registered. Importing Gymnasium here would slow every ``import wayword``; without the hook, an
    earlier ``import wayword`` would leave the id unregistered.
    """

    def find_spec(self, name: str, path: Any, target: ModuleType | None = None) -> Any:
        if name != "gymnasium":
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None:
            loader: Any = spec.loader
            load = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                load(module)
                _register_gymnasium(module)

            loader.exec_module = exec_module
        return spec


def _register_gymnasium(gymnasium: Any) -> None:
    module = "wayword.envs.gymnasium"
    gymnasium.register(
        id="Wayword-v0",
        entry_point=f"{module}:WaywordEnv",
        vector_entry_point=f"{module}:vector",
    )


if "gymnasium" in sys.modules:
    _register_gymnasium(sys.modules["gymnasium"])
else:
    sys.meta_path.insert(0, _GymnasiumHook())
