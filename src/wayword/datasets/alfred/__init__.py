"""ALFRED's published trajectories as episodes of the rooms world, in iTHOR's rooms.

Read in this order:

    trajectories  the published files, indexed by line and parsed when asked for
    placing       object_poses, toggles and dirt of a trajectory as a scene; where a body starts
    targets       what its task type and parameters ask for, as goal conditions
    source        ... all of it as tasks and worlds

A trajectory's scene names what lies where; the furniture is that of iTHOR's metadata, which was
published for a later build of AI2-THOR. What is inferred from it is said in ``placing``.
Source: ALFRED (Shridhar et al. 2020), json_2.1.0.
"""
