"""Training: an agent's own prompts as labeled examples, :mod:`wayword.training.examples`.

Labels are the gold path's actions, VELMA's response-based learning, or DAgger's corrections.
Fine-tuning on them, and the training of the weights in the package, are in ``weights/`` of
the repository.
"""
