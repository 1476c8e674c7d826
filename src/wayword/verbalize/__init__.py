"""Observations and feedback to words: templates only, one module a world."""
