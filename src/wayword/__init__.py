"""Wayword: language-model agents that find their way.

>>> import wayword
>>> plan = wayword.Plan("oracle", "houses", limit=3)
>>> plan.agent, plan.on
('oracle', 'houses')
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wayword.runs.plan import Plan
    from wayword.runs.running import RunResult, run, run_async

__version__ = "0.1.0"
__all__ = ["Plan", "RunResult", "__version__", "run", "run_async"]


def __getattr__(name: str) -> Any:
    """Load the public names when they are first used, so that ``import wayword`` costs nothing."""
    if name in __all__:
        from wayword import runs

        return getattr(runs, name)
    raise AttributeError(f"module 'wayword' has no attribute {name!r}")


class _GymnasiumComes:
    """Registers the environment as soon as Gymnasium is imported, if ever.

    ``gymnasium.make("wayword:Wayword-v0")`` imports ``wayword`` and expects the id to be there
    then; but importing Gymnasium here would cost everybody its time, and where ``wayword`` was
    imported first nothing would run again.
    """

    def find_spec(self, name: str, path: Any, target: ModuleType | None = None) -> Any:
        if name != "gymnasium":
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        return spec if spec is None else _and_then_register(spec)


def _and_then_register(spec: ModuleSpec) -> ModuleSpec:
    loader: Any = spec.loader
    load = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        load(module)
        _register(module)

    loader.exec_module = exec_module
    return spec


def _register(gymnasium: Any) -> None:
    room = "wayword.envs.gymnasium"
    gymnasium.register(
        id="Wayword-v0",
        entry_point=f"{room}:WaywordEnv",
        vector_entry_point=f"{room}:vector",
    )


if "gymnasium" in sys.modules:
    _register(sys.modules["gymnasium"])
else:
    sys.meta_path.insert(0, _GymnasiumComes())
