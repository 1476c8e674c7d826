"""Homes in which actors look, walk, handle objects and talk.

scene    a home as frozen data                     builder      rooms and objects -> scene
layout   the fixed parts as arrays; collisions     entities     the movable parts as arrays
verbs    the verbs, their failures; the body       sight        the objects that a body sees
route    shortest paths of whole steps             motions      the effects of the verbs
house    the full state of an episode              observation  the view of an actor
world    the rules, and the menu of an actor       goals        goal conditions, references
skills   fetch, put, heat … as plans               expert       goals -> skills
"""

from wayword.core.world import Family

family = Family("household")
