"""Wayword: language-model agents that find their way.

>>> import wayword
>>> plan = wayword.Plan("oracle", "houses", limit=3)
>>> plan.agent, plan.on
('oracle', 'houses')
"""

from __future__ import annotations

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
