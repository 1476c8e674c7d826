"""Contracts of datasets, worlds, agents, models and robots, as functions for your tests.

    from wayword.testing import check_agent, check_base, check_dataset, check_model, check_world

    def test_mine():
        check_world(my_dataset)

Each raises ``AssertionError`` with a sentence that names the violated rule. The project's own tests
run them on all registered parts, so a new part in its folder is tested automatically.
"""

from wayword.testing.contracts import (
    check_agent,
    check_dataset,
    check_model,
    check_world,
)
from wayword.testing.robots import check_base

__all__ = ["check_agent", "check_base", "check_dataset", "check_model", "check_world"]
