"""Homes of AI2-THOR as scenes of the rooms world, from published object metadata.

Read in this order:

    metadata     the published files: one frozen record an object, in the project's own frame
    kinds        what a type of object can do, takes and hides: flags of the file, and rules
    support      what a thing lies in or on, judged by boxes
    changing     other poses and states than the published ones, extra copies, things left out
    furnish      records -> objects of a scene; also for scenes without a published floor
    floor        the published cells on which one can stand, and gaps that are closed
    ithor        the 120 iTHOR rooms: records, floor, room; scenes and shared layouts
    shuffles     the published rearrangement episodes
    restoring    what one asks for in a world of words
    rearranging  ... as a source of episodes
    questions    the published questions about kitchens
    kitchens     kitchens laid out anew so that their answers are right; a source of episodes

AI2-THOR counts z to the north and y up, and turns clockwise from +z; here x is east, y north, z up,
and headings are clockwise from north, so that (x, y, z) there is (x, z, y) here and angles stay.

What is published are axis-aligned boxes, flags and what is in or on what; nothing was rendered.
Source: metadata of AI2-THOR (Kolve et al. 2017) as PyPI's procthor 0.0.1.dev2 ships it.
"""
