"""Homes in which bodies look, walk, handle things and talk.

scene         a home as frozen data, JSON round trip       builder   rooms and things -> scene
layout        what never moves, as arrays; collision       things    what does, as arrays
verbs         the verbs, how each can fail; the body       sight     which things a body sees
route         shortest ways of whole steps                 motions   what the verbs do
house         who is where, knows what, sees what          observation   what an actor is given
world         the rules, and what an actor may try
goals         goal conditions, references                  errands   fetch, put, heat … as plans
expert        goals -> errands
"""

from wayword.core.world import Family

family = Family("household")
