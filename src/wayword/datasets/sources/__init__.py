"""Readers of published files, one module a source.

    alfred        ALFRED's trajectories
    thor, ithor   AI2-THOR's object metadata; iTHOR's rooms
    robothor      RoboTHOR's apartments
    teach         TEACh's task definitions
    virtualhome   VirtualHome's homes, Watch-And-Help's goals
    own           a task of one's own, from a YAML file

Room-to-Room and Touchdown are read in ``wayword.datasets.r2r`` and ``touchdown``.
"""
