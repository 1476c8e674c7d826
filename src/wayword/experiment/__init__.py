"""From names to numbers: plans, runs, scores of other people's predictions, reports.

>>> from wayword.experiment import Plan
>>> Plan("navgpt", "houses", "local:smollm2", limit=20).dataset_name
'houses'
"""

from wayword.experiment.plan import Plan
from wayword.experiment.running import RunResult, run, run_async

__all__ = ["Plan", "RunResult", "run", "run_async"]
