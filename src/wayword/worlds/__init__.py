"""Families of worlds, one folder per family; the folder's module ``world`` contains the world. See
``wayword.core.registry``.
"""
