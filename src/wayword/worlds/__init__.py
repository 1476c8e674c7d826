"""One folder a family of worlds; the folder's name is the family's, and the world is in its
module ``world``. See ``wayword.core.registry``.
"""
