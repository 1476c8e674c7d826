"""Training: an agent's own prompts as examples, fine-tuning, weights as GGUF.

labels     the action an agent should have taken: gold, VELMA's response-based learning, DAgger
alignment  which clause belongs to which gold step
examples   played episodes as text, with a label at every decision
recipes    everything that decides about a run
student    the network under training, a model that answers ``choose``; its forward pass
together   the same for many episodes at once
batches    crops and mirror images of examples, their order, sequences as tensors
loop       steps, dev scores, checkpoints
export     GGUF file, model card, dev curve

torch, transformers, peft and gguf (the extra ``[train]``) are imported inside functions only.

imitation           the DAgger trainer of the agent ``imitation``, which asks no language model
imitation_model     its network, and the ONNX file that the agent plays
imitation_tables    scenes and episodes as arrays, and many walks at once

These three are run in an environment that has torch and onnx, and import them at the top.
"""
