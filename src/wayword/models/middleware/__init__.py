"""A model around a model. ``wayword.models.parts.opening`` says in which order.

cache    an answer known already is free: no budget, no waiting, no request
budget   puts a price on answers; stops before a request that the run can no longer pay for
rate     every attempt waits its turn; asks again after failures that may pass
"""
