"""Houses as viewpoint graphs: the house, the views in it, and routes through it."""
