"""Supervised fine-tuning of any causal language model on an agent's own prompts, by TRL.

python -m weights.sft velma --on towns:train --base Qwen/Qwen3-0.6B --out runs/velma
"""
