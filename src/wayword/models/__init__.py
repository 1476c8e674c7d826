"""Model backends, one per file; the file name is the registered name (``wayword.core.registry``).

parts/        opening by name, weights, in-process llama.cpp, constrained answers
middleware/   cache, budget, rate limits, retries
servers/      requests to, and answers from, OpenAI-compatible servers
"""
