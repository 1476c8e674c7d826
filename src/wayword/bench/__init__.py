"""The bench: how long a task a model or an agent still solves, one card for any player.

ladders   versions, and their levels as ordinary runs
scorecard the card of one player, computed from the runs
card_text a card in the terminal
comparison two cards, on the episodes that both have tried
real      samples of published data next to the ladders
outcomes  who solved what, at what cost
checksums whether two machines draw the same episodes
horizon   the length at which success falls to one half, with its interval
"""
