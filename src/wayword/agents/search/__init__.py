"""Agents that explore to find an object: LGX, and the baselines next to it.

lgx        asks a language model which object to go to
prior      the object whose name is most like the target's
frontier   the nearest unexplored cell
wander     a random direction

All extend ``searcher`` (a costmap, an approach to the target); lgx and prior extend ``listing``.
"""
