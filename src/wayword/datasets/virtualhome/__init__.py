"""VirtualHome's home graphs, Watch-And-Help's and C-WAH's logged episodes, as houses of words.

graph    nodes and edges as published
kinds    what each class of node is here: a thing, a surface, a box, an obstacle
plan     rooms from floor tiles, doorways from doors and jambs
mending  what is made passable so that every room is within reach
house    a graph as a scene of the rooms world, with counts of what was left out and why
goals    predicates such as ``on_plate_137: 2`` as goal conditions
logs     the logged episodes
placing  C-WAH's activities drawn over the homes

VirtualHome's frame is Unity's: left-handed, y up, metres. Here x is its x, y (north) its z, and
heights are its y.
"""
