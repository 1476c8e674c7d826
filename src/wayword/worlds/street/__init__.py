"""Street graphs of panoramas.

graph   panoramas and links, distances in links
moves   the transition functions; a path as actions, actions as a path
world   state, rules, observation
"""

from wayword.core.world import Family

family = Family("street", success="tc", place="panorama")
