"""Indoor viewpoint graphs with instructions.

places         walls, viewpoints and the edges between them
house          all of it with furniture, for one scene name
views          what is visible from a viewpoint, and the sentences about it
routes         gold paths, and what an instruction must say about each stretch
plan_svg       the floor plan as a picture

The dataset ``houses`` itself puts routes into words.
"""
