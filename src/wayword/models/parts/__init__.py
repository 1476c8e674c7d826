"""What model backends share.

opening      ``local:smollm2`` and a few settings -> a model, with its middleware
weights      which weight files are known, and where they are
fetch        how to get them
llamacpp     one weight file in this process, and served to others
requantise   weights rewritten so that a CPU multiplies them faster
decoding     constrained answers, where an option begins, what is thought aloud
"""
