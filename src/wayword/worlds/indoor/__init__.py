"""Walks on viewpoint graphs: ``graph`` loads and measures them, ``world`` has the rules."""

from wayword.core.world import Family

SUCCESS_METRES = 3.0
"""An episode succeeds strictly within this distance of the goal (Anderson et al. 2018).

The same distance sets the decay of nDTW and CLS (Ilharco et al. 2019, Jain et al. 2019)."""

family = Family("indoor", place="viewpoint", goal_radius=SUCCESS_METRES)
