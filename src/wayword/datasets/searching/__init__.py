"""What datasets of object-goal navigation share.

reference    FindingReference: which objects count as found, and the published way
floors       RoboTHOR: free floor and walls, inferred from published starts and paths
apartments   RoboTHOR: scenes of the rooms world from floors and object metadata
describing   generated homes: how a person would call each small thing
"""
