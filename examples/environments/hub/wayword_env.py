"""Wayword for the Environments Hub: `vf-eval wayword-env --env.taskset.dataset houses:train`."""

from wayword.envs.verifiers import VerifiersEnv, WaywordTaskset

__all__ = ["VerifiersEnv", "WaywordTaskset"]
