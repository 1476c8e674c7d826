"""Towns as street graphs: the town itself with what is seen in it, and routes through it."""
