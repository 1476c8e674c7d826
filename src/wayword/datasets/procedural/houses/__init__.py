"""Houses as viewpoint graphs: the house itself, what is seen in it, and routes through it."""
