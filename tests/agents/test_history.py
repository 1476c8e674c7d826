"""The oldest steps are dropped where a prompt overflows, half of them only for a prefix cache."""

from __future__ import annotations

import pytest

from wayword.agents.prompting import History


@pytest.mark.parametrize(("halve", "dropped"), [(False, 2), (True, 5)])
def test_only_what_must_go_is_dropped_without_a_prefix_cache(
    halve: bool, dropped: int
) -> None:
    history = History()
    for number in range(10):
        history.add(f"step {number} " * 10)
    assert history.fit(sum(map(len, history.blocks[2:])), halve) == dropped
    assert history.blocks[0].startswith(f"step {dropped}")
