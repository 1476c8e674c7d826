"""Speed as ratios against plain reference implementations, each measured in one run.

``make bench`` runs them all; ``python -m benchmarks.NAME`` runs one. A benchmark prints a line a
ratio, with its bound, and exits with 1 when a bound is missed.
"""
