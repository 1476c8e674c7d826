"""The parts of the world in which things are looked for (family ``objectnav``).

base         Base: what any robot must offer: capture, rotate, go to a point
observation  View: one capture, with its depth image and what is truly in it
camera       Camera and DepthImage: how far things are, column by column
surfaces     walls and boxes that stop looks
ground       where a body's centre may be, and the shortest ways between such places
simulated    SimulatedBase: a base in a scene of the rooms world
poses        where a thing counts as found
motions      the actions and their menu

Lengths are metres, headings degrees clockwise from north, bearings relative and right positive.
"""
