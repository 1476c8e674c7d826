"""Object search: a base with a camera, simulated or real.

    observation    depth images and the view of one capture
    base           the interface of a base, and the actions of a search
    ground         free positions of a base, and shortest paths
    simulated      a base in a household scene
    world          the rules, the reference, the oracle
    thor           a base in AI2-THOR itself
    robot          a base with ROS 2 and Nav2; rosbridge is its connection

ROS has x forward or east, y left or north, and angles counter-clockwise from x. Here x is east, y
is north and headings are degrees clockwise from north. Only ``robot`` converts between the two.
"""

from wayword.core.world import Family

family = Family("objectnav", success="success_grounded")
