"""Base classes and data types of Wayword, and the episode loop. Suggested reading order:

    episode     Episode (all that an agent may know) and Reference (the answer, for scoring)
    action      Action; ActionSpace, the actions that are legal now; Decision and Rejection, the
                two results of parsing an agent's answer
    world       World, Observation, Feedback: state and rules, one actor at a time; Family: a kind
                of world, and its parts in every layer
    model       Model: complete and choose
    perceiver   Perceiver: descriptions of places, views and pictures
    agent       Agent, and its Toolkit
    trajectory  Trajectory: the full record of one episode
    dataset     Dataset: episodes, references, the worlds they need, and solutions computed from
                the references
    game        Game: one episode in a world, stepped turn by turn; plans
    recording   recording of an episode, and replay of recorded turns
    rollout     playing episodes: world + agents -> trajectory, many concurrently
    metric      Metric: name, unit and better direction of a score
    registry    parts by name, found by their file's name

Also here: errors, files (readers with precise errors), geometry, loopback, secrets.

This package uses only the standard library, numpy and the JSON parser of pydantic, and never
touches the network.

The names in ``__all__`` are what extensions build on; they change only with a deprecation. Each is
loaded from its module at its first use: ``wayword.core.Agent`` is ``wayword.core.agent.Agent``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
    from wayword.core.agent import Agent, Toolkit
    from wayword.core.dataset import Dataset, Task
    from wayword.core.episode import Episode, PathReference, Reference
    from wayword.core.errors import DataError, ModelError, UsageError, WaywordError
    from wayword.core.metric import Metric
    from wayword.core.model import Choice, Completion, Message, Model, Sampling
    from wayword.core.perceiver import Perceiver
    from wayword.core.trajectory import Step, Trajectory
    from wayword.core.world import Family, Feedback, Observation, World

__all__ = [
    "STOP",
    "Action",
    "ActionSpace",
    "Agent",
    "Choice",
    "Completion",
    "DataError",
    "Dataset",
    "Decision",
    "Episode",
    "Family",
    "Feedback",
    "Message",
    "Metric",
    "Model",
    "ModelError",
    "Observation",
    "PathReference",
    "Perceiver",
    "Reference",
    "Rejection",
    "Sampling",
    "Step",
    "Task",
    "Toolkit",
    "Trajectory",
    "UsageError",
    "WaywordError",
    "World",
]

_MODULES = (
    "action",
    "agent",
    "dataset",
    "episode",
    "errors",
    "metric",
    "model",
    "perceiver",
    "trajectory",
    "world",
)
"""Modules that define the names above."""


def __getattr__(name: str) -> Any:
    """Load a public name at its first use, which keeps ``import wayword`` fast."""
    if name in __all__:
        for module_name in _MODULES:
            module = import_module(f"{__name__}.{module_name}")
            if name in vars(module):
                return vars(module)[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
