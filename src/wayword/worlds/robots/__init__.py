"""Robots: bases that are no simulation, behind :class:`~wayword.worlds.search.base.Base`.

link       Link: one rosbridge connection that finds its way back
messages   ROS 2 messages <-> our places, headings and depth images
rosbase    RosBase: ROS 2 and Nav2 over a link

ROS has x forward or east, y left or north, angles counter-clockwise from x. Here x is east, y is
north and headings are degrees clockwise from north. ``messages`` converts, nothing else does.
"""
