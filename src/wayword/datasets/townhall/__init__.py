"""The generator behind ``wayword.datasets.towns``: seeded towns, one concept a file.

Read in this order:

    streets       corners and the streets between them, as lines on a plan
    names         what the things along a street are called
    town          panoramas, links, landmarks and traffic lights for one scene name
    sight         what can be seen from a panorama: the town's perceiver and landmark scorer
    exits         the ways out of a junction, and what each turn is called
    routes        gold paths, and what an instruction must say about each leg
    instructions  a route in words

Plan coordinates are metres, x to the east and y to the north. Every random choice comes from a
``random.Random`` seeded with a text, so that a scene is the same on every machine.
"""
