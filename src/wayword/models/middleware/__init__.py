"""Wrappers around a model, applied in the order of ``wayword.models.parts.opening.wrap``.

cache    response cache: repeated questions are answered from disk
budget   token and dollar limits of a run, and who pays for a call
ledger   rows of billed requests, and the probable cost of lost ones
prices   price table, and the cost of answers
rate     rate limit, and retries after transient failures
"""
