"""Viewpoint graphs: ``graph`` has the places and their neighbors, ``world`` the rules."""
