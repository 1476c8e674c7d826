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
"""Public name -> the package to load it from."""
_GYMNASIUM_MODULE = "wayword.envs.gymnasium"
_GYMNASIUM_ID = "Wayword-v0"
_OF_RESULTS = ("compare", "plot", "table", "to_dataframe", "to_latex", "view")
"""Methods of results."""
_HINTS = {
    **dict.fromkeys(("load", "read"), "wayword.RunResult.read(FOLDER)"),
    **dict.fromkeys(
        ("make", "make_vec"),
        'wayword.envs.make("houses"), or '
        f'gymnasium.{{name}}("{_GYMNASIUM_MODULE}:{_GYMNASIUM_ID}")',
    ),
    **dict.fromkeys(_OF_RESULTS, "wayword.RunResult.read(FOLDER).{name}(…)"),
}
"""Name that people look for here -> what to write instead."""


def __getattr__(name: str) -> Any:
    """Load a public name when it is used, which keeps ``import wayword`` fast.

    Raises ``AttributeError`` for any other name, with a hint if people look for it here.
    """
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in __all__:  # the rest are packages: Python finds ``__version__`` itself
        return import_module(f"wayword.{name}")
    instead = _HINTS.get(name, "")
    if not instead and name in import_module("wayword.core").__all__:
        instead = "wayword.core.{name}"
    hint = f"; write {instead.format(name=name)}" if instead else ""
    raise AttributeError(f"module 'wayword' has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    return sorted(__all__)  # includes names that are not loaded yet


def _register_gymnasium(gymnasium: Any) -> None:
    """Register the environment, unless this was done."""
    if _GYMNASIUM_ID not in gymnasium.registry:
        gymnasium.register(
            id=_GYMNASIUM_ID,
            entry_point=f"{_GYMNASIUM_MODULE}:WaywordEnv",
            vector_entry_point=f"{_GYMNASIUM_MODULE}:vector",
        )


# ``gymnasium.make("wayword:Wayword-v0")`` imports ``wayword`` and then expects the id to be
# registered. Gymnasium itself is not imported here: that takes longer than all of Wayword. In a
# program that imports it later, ``wayword.envs.gymnasium`` registers the id.
if "gymnasium" in sys.modules:
    _register_gymnasium(sys.modules["gymnasium"])
