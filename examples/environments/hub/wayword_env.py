"""Wayword for the Environments Hub: `vf-eval wayword-env --env.taskset.dataset houses:train`."""

from wayword.envs.verifiers import WaywordEnv, WaywordTaskset

__all__ = ["WaywordEnv", "WaywordTaskset"]
