"""The two-phase test: leave a room for the hallway, then choose the right room."""
