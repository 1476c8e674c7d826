"""Maps of episodes, one module a family, found by its name.

    map(trajectory, sources) -> Map | Html | None     in indoor.py, street.py, household.py

``generic`` asks the family's own map, and draws the families without one; ``drawing`` is the SVG.
"""
