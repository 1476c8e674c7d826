"""Training: an agent's own prompts as examples, fine-tuning, weights as GGUF.

labels     the action an agent should have taken: gold, VELMA's response-based learning, DAgger
examples   played episodes as text, with a label at every decision
recipes    everything that decides about a run
student    the network under training, a model that answers ``choose``
loop       steps, dev scores, checkpoints
export     GGUF file, model card, dev curve

torch, transformers, peft and gguf (the extra ``[train]``) are imported inside functions only.
"""
