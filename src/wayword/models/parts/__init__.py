"""What model backends share.

opening   ``local:smollm2`` and a few settings -> a model, with its middleware
weights   which weight files are known, and where they are
fetch     how to get them
options   constrained answers, and where an option begins
"""
