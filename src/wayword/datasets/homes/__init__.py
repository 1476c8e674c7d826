"""Generated homes and what is to be done in them, and the goals and experts of all such tasks.

Read in this order:

    plan          rooms and doors, from one room to wings of a hundred
    furniture     what furniture there is, and in which rooms it stands
    furnishing    ... set down where it leaves a way
    home          plan and furniture as a scene of the rooms world, by name
    objects       what small things there are, and where they are likely to lie
    arranging     ... laid about a home
    goals         conditions on the true final state; the references
    chores        ALFRED's seven types of tasks
    wording       chores in words
    instructing   short instructions: go to, pick up, open, put on, put next to
    errands       fetch, put, heat, cool, wash, slice: generators of low-level actions
    errandways    which of several things to go for
    solving       goals to errands: the expert's plan
    episodes      settings, tasks and worlds that the generated datasets share

``goals`` and ``solving`` know nothing of generated homes: imported ones use them as well. Every
random choice comes from a ``random.Random`` seeded with a text, so that a home is the same on every
machine.
"""
