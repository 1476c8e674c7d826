"""A model around a model. ``wayword.models.parts.opening`` says in which order.

cache    an answer known already is free: no budget, no waiting, no request
budget   stops before a request that the run can no longer pay for
prices   puts a price on answers
rate     every attempt waits its turn; asks again after failures that may pass
"""
