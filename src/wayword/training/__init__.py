"""Training: an agent's own prompts as labelled examples, and supervised fine-tuning on them.

labels     the action an agent should have taken: gold, VELMA's response-based learning, DAgger
alignment  which clause belongs to which gold step
examples   played episodes as text, with a label at every decision
sft        fine-tuning of any causal language model by TRL, with adapters

torch, transformers, peft and trl (the extra ``[train]``) are imported inside functions only. The
recipes of the weights in the package lie in ``recipes/`` of the repository.
"""
