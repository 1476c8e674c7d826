"""The generator behind ``wayword.datasets.houses``: seeded houses, one concept a file.

Read in this order:

    programme     which rooms a house has, how large they are, which belong side by side
    floorplan     rooms and doors as rectangles and openings
    sight         walls, and what can be seen past them
    places        viewpoints and the ways between them
    catalogue     what furniture stands in which room, and what it may look like
    furnishing    furniture set down where nobody walks
    house         all of these for one scene name
    views         what is visible from a viewpoint, direction by direction
    captions      views as sentences: the percepts
    routes        paths, and what an instruction must say about each stretch
    instructions  a route in three wordings
    plan_svg      the floor plan as a picture

Plan coordinates are metres, x to the east and y to the north. Every random choice comes from a
``random.Random`` seeded with a text, so that a scene is the same on every machine.
"""
