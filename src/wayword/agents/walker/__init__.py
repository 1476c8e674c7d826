"""Walker: an indoor agent to fine-tune, on the probabilities of the neighbors."""
