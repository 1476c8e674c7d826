"""ALFRED's published trajectories as household episodes in iTHOR's rooms.

    files      the published files; a trajectory's start as a scene
    episodes   its goals, instructions and worlds

A trajectory's scene names what lies where; the furniture is that of iTHOR's metadata, which was
published for a later build of AI2-THOR. ``files`` says what is inferred from it.

Source: ALFRED (Shridhar et al. 2020), json_2.1.0.
"""
