"""Street graphs of panoramas.

graph   panoramas and links, distances in links
moves   the transition functions; conversion between paths and actions
world   state, rules, observation
"""

from wayword.core.world import Family

family = Family("street", success="tc", place="panorama")
