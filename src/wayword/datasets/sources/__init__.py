"""Readers of published files, one module per source.

    alfred        ALFRED's trajectories
    thor, ithor   AI2-THOR's object metadata; iTHOR's rooms
    robothor      RoboTHOR's apartments
    teach         TEACh's task definitions
    virtualhome   VirtualHome's homes, Watch-And-Help's goals
    own           a user's own tasks, from YAML files

Room-to-Room and Touchdown are read in ``wayword.datasets.r2r`` and ``touchdown``.
"""

from importlib import resources


def example() -> str:
    """Return a task file to start from; ``own`` reads such files."""
    text = resources.files(__name__) / "example.yaml"
    return text.read_text(encoding="utf-8")
