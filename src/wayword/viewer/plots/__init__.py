"""Figures for papers, drawn with matplotlib (extra ``plot``).

    plot(["runs/a", "runs/b"], "length").save("length.pdf")     in display.py

``display`` has the table of kinds, ``style`` the look, ``charts`` the figures of metrics,
``curves`` learning curves, ``walks`` trajectories on their map.
"""
