"""Metrics of episodes and runs, and their tables.

indoor street household objectnav babyai two_phase    the metrics of a family
definitions      names and definitions of all metrics
scoring          the scorer of a family, and all metrics of an episode
paths            path metrics for whole batches at once
accounting       steps, rejections, calls, tokens, cost and seconds, for every family
state_accuracy   accuracy of agents' statements about their own state
intervals        bootstrap intervals and the permutation test
summary          a run's row, and the notes below a table
table, compare   one row per run; two runs episode by episode
predictions      prediction files from other systems
"""
