"""Code that model backends share.

opening      ``local:smollm2`` and a few settings -> a model, with its middleware
weights      files of weights: which are known, where they are, fetched, checked, converted
llamacpp     one weight file in this process, and served to others
decoding     constrained answers, where an option begins, what is thought aloud
"""
