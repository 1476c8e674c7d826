"""Homes of AI2-THOR as household scenes, from published object metadata.

    objects         one frozen record an object; what each type can do; changed poses and states
    furnish         records -> objects of a scene, and what each lies in or on
    rooms           the 120 iTHOR rooms: floor, outline, scenes, shared layouts
    rearrangement   the published rearrangement episodes, and what each asks for here
    kitchens        the published questions, in kitchens laid out so that their answers are right

AI2-THOR counts z to the north and y up, and turns clockwise from +z; here x is east, y north, z up,
and headings are clockwise from north, so that (x, y, z) there is (x, z, y) here and angles stay.
What is published are axis-aligned boxes, flags and what is in or on what; nothing was rendered.

Source: metadata of AI2-THOR (Kolve et al. 2017) as PyPI's procthor 0.0.1.dev2 ships it.
"""
