"""One dataset a file; the file's name is its registered name. See ``wayword.core.registry``.

sources/      readers of published files
procedural/   generators: houses, towns, homes
"""
