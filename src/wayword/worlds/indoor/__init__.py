"""Viewpoint graphs: ``graph`` has the places and their neighbors, ``world`` the rules."""

from wayword.core.family import Family

family = Family("indoor", place="viewpoint", goal_radius=3.0)
