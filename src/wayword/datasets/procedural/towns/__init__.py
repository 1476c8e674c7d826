"""Towns as street graphs: the town, its visible landmarks, and routes through it."""
