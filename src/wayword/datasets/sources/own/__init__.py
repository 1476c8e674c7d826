"""Tasks of one's own, each from a short YAML file: read, built, and checked by the expert."""
