"""Levels of BabyAI as episodes.

    levels     which levels there are, and the numbers that they are drawn by
    solving    the expert: the package's own bot, and what it does not know

The world is ``wayword.worlds.gridworld``.
"""
