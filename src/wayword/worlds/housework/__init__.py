"""The parts of the rooms world.

scene        Scene and what it is made of: plain frozen data, JSON round trip
builder      SceneBuilder: rooms, doors and things in, a checked Scene out
body         Body: what an actor sees, reaches, carries and does
verbs        the verbs and what they take        statuses   how each can fail
layout       what never moves, as arrays         things     what does, as arrays
sight        which things a body sees            collision  where a body may go
lattice      shortest ways of whole steps        route      ... as low-level actions
house        who is where and knows what         names      type_n by first sight
landing      where what is put comes to lie
low, high    what the verbs do                   effects    what appliances do
messages     chat and ask                        menu       what may be tried
observation  what an actor is given              perceive   ... and how it is made
report       the whole state as JSON             invariants what always holds
"""
