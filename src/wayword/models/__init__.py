"""Model backends, one per file; the file name is the registered name (``wayword.core.registry``).

parts/        open a model by name; weights, in-process llama.cpp, constrained decoding
middleware/   cache, budget, rate limits, retries
servers/      client of OpenAI-compatible servers
"""
