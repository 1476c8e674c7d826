"""Datasets, one per file; the file name is the registered name. See ``wayword.core.registry``.

``wayword.core.dataset`` defines the interface; ``tour`` is a short dataset to copy.

sources/      readers of published files
procedural/   generators: houses, towns, homes
"""
