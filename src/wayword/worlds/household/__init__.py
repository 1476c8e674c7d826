"""Homes in which bodies look, walk, handle things and talk.

scene         a home as frozen data, JSON round trip       builder   rooms and things -> scene
layout        what never moves, as arrays; collision       things    what does, as arrays
verbs         the verbs, how each can fail; the body       sight     which things a body sees
lattice       shortest ways of whole steps                 route     ... as low-level actions
house         who is where, knows what, sees what          observation   what an actor is given
low, high     what the verbs do                            choices   what an actor may try
                                                           world     the rules
goals         goal conditions, references                  errands   fetch, put, heat … as plans
expert        goals -> errands
"""

from wayword.core.world import Family

family = Family("household")
