"""Readers of published files, one module or folder a source.

    street        Touchdown and Map2seq
    alfred        ALFRED's trajectories
    ithor         AI2-THOR's rooms, the 2021 rearrangement episodes, THOR-IQA's kitchens
    robothor      RoboTHOR's apartments
    teach         TEACh's task definitions
    virtualhome   VirtualHome's homes, Watch-And-Help's episodes

Room-to-Room is read in ``wayword.datasets.r2r`` itself.
"""
