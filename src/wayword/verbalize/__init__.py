"""Observations and feedback to words: templates only, one module a family.

``generic`` speaks of any of them in the same form.
"""
