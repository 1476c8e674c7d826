"""What every dataset, world, agent and model must hold to, as functions to call in your tests.

    from wayword.testing import check_dataset, check_world, check_agent, check_model

    def test_mine():
        check_world(my_dataset)

Each raises ``AssertionError`` with a sentence that says which promise was broken. The project's
own tests walk the registry with them, so a part dropped into its folder is tested at once.
"""

from wayword.testing.contracts import check_agent, check_dataset, check_model, check_world

__all__ = ["check_agent", "check_dataset", "check_model", "check_world"]
