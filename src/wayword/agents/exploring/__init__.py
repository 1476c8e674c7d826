"""What agents that search and explore share.

costmap    depth images -> free, occupied and unknown cells
planning   A* over the cells that a body may use
frontiers  where known free floor meets the unknown
around     names and captions of a full turn
approach   going up to a thing that was found
searcher   Searcher: rotate in place, look for the target, go to the chosen point; agents choose
settings   SearchSettings: detector, threshold, turns; what all searchers can be set to
"""
