"""Model backends, one per file, whose name is the registered name. See ``wayword.core.registry``.

parts/        opening by name, weights, llama.cpp inside this process, constrained answers
middleware/   cache, budget, rate limits, retries
servers/      requests to and answers from servers with OpenAI's interface
"""
