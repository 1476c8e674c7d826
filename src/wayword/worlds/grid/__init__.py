"""MiniGrid levels as a world of words.

Read in this order:

    level         one level of the package ``minigrid``: its own rules, steps and verdict
    sight         which squares are in view: the package's rule, made fast
    observation   what an actor perceives
    view          the squares in view -> an observation, with names
    low           turns, steps and hands: one action of the level each, and why it may fail
    routes        what has been seen so far, and the shortest ways through it
    high          whole errands: go to, take, open, put beside, explore

Squares are the unit of length. x grows to the east and y to the south, as in the package; headings
are degrees clockwise from north, so that up on its pictures is north.
"""
