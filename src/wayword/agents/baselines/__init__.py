"""Agents without a language model: lower bounds, and upper bounds that use ground truth."""
