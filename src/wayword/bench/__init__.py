"""The bench: how long a task a model or an agent still solves, one card for any player.

ladders   versions, levels as ordinary runs, cards and their comparison
real      samples of published data next to the ladders
outcomes  who solved what, at what cost
checksums whether two machines draw the same episodes
horizon   the length at which success falls to one half, with its interval
"""
