"""Training of small language models on an agent's own prompts, on one or two CPU cores or a GPU.

config      everything that decides about a run, from a YAML file in this folder
student     the network under training, a model that answers ``choose``; its forward pass
shape       how a student is cut from its base
together    the same for many episodes at once
batches     crops and mirror images of examples, their order, sequences as tensors
loop        steps, dev scores, checkpoints
export      GGUF file, model card, dev curve
"""
