"""MapGPT: a map in words and a plan that is revised at every step (Chen et al. 2024)."""
