"""Wayword for the Environments Hub: `vf-eval wayword-env -a '{"name": "houses:train"}'`."""

from wayword.envs.verifiers import load_environment

__all__ = ["load_environment"]
