"""Street graphs of panoramas.

text    the published text files, read fast
graph   panoramas and links
hops    distances in links
moves   the transition functions; a path as actions, actions as a path
world   state, rules, observation
"""

from wayword.core.world import Family

family = Family("street", success="tc", place="panorama")
