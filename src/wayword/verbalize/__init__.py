"""Observations and feedback in words, by templates: one module per family.

``generic`` is the common interface, with defaults for families without a module.
"""
