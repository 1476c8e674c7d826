"""Generators of places and tasks. No data needed.

    floorplans   rooms and doors as rectangles and openings
    houses       viewpoint graphs with instructions (the dataset ``houses``)
    homes        household scenes and tasks
    towns        street graphs with instructions (the dataset ``towns``)

Plan coordinates are metres, x east and y north. Every random choice comes from a
``random.Random`` seeded with a string, so a scene is the same on every machine.
"""
