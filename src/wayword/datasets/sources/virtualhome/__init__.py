"""VirtualHome's home graphs and Watch-And-Help's and C-WAH's logged episodes.

    files      nodes and edges as published, what each class of node is here, and predicates such as
               ``on_plate_137: 2`` as goal conditions
    house      a graph as a household scene, with counts of what was left out and why
    episodes   the logged episodes, and activities drawn over the homes

VirtualHome's frame is Unity's: left-handed, y up, metres. Here x is its x, y (north) its z, and
heights are its y.
"""
