"""NavGPT: explicit reasoning on a viewpoint graph."""
