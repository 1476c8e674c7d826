"""Agents that explore to find an object: LGX, and the baselines next to it.

lgx        goes to an object or in a direction that a language model names
prior      to the object whose name is most like the target's
frontier   to the nearest border of the unknown
frontier_llm  to the border that a language model names
wander     in a random direction
"""
