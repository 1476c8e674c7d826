"""Families of worlds, a folder each; the folder's name is the family's, and the world is in its
module ``world``. See ``wayword.core.registry``.
"""
