"""The two-phase test: leave a room for the hallway, then choose the right room."""

from wayword.core.world import Family

family = Family("two_phase")
