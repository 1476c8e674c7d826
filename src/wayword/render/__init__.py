"""Schematic pictures of worlds: meshes from a table of parts, drawn with NumPy alone.

raster    draws a mesh from a camera: colors, depth, and which object each pixel shows
parts     looks of objects, from ``parts.toml``, and the builder of meshes
"""
