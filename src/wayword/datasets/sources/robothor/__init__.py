"""RoboTHOR's apartments.

floors       free floor and walls, inferred from published starts and paths
apartments   scenes from floors and object metadata
"""
