"""Metrics of episodes and runs, and their tables.

indoor street household objectnav babyai two_phase    the metrics of a family
definitions      names and definitions of all metrics
scoring          the scorer of a family, and all metrics of an episode
paths            path metrics for whole batches at once
accounting       steps, rejections, calls, tokens, cost and seconds, for every family
state_accuracy   accuracy of agents' statements about their own state
intervals        intervals and p-values of means and differences, by one method
summary          a run's row, and the notes below a table
table, compare   one row per run; two runs episode by episode
papers           LaTeX tables with the columns of a benchmark's papers
tours            halves of tours, gains over forgetting, and t-nDTW
predictions      prediction files from other systems
progress         distance from success after each step
conditions       goal conditions of an episode and their objects
recorded         fields of recorded observations and poses
mistakes         causes of failed episodes, and the step that decided them
"""
