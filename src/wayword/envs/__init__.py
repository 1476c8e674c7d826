"""Wayword's worlds as training environments, with interfaces to other trainers and tools.

    >>> from wayword.envs import make
    >>> env = make("household:generated_test", reward="progress", max_steps=50)
    >>> observation, info = env.reset(seed=0)
    >>> observation, reward, terminated, truncated, info = env.step("turn_left")

:func:`make` needs nothing but Wayword. Each other interface is one module, and imports its library
when it is used: ``gymnasium``, ``pettingzoo``, ``openenv``, ``mcp``, ``trl``, ``verifiers``,
``inspect``. docs/environments.md has a table of their uses.
"""

from __future__ import annotations

from wayword.envs.environment import Environment, EnvironmentOptions, make
from wayword.envs.rewards import Reward

__all__ = ["Environment", "EnvironmentOptions", "Reward", "make"]
