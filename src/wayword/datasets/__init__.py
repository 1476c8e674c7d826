"""One dataset a file; the file's name is its registered name. See ``wayword.core.registry``.

What a dataset has to offer is in ``wayword.core.dataset``; ``tour`` is a short one to copy.

sources/      readers of published files
procedural/   generators: houses, towns, homes
"""
