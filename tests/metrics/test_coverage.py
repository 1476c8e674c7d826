"""Printed intervals hold the truth, and printed tests their size, in small fixed simulations."""

from __future__ import annotations

import pytest
from tools.coverage import SHORT


@pytest.mark.timeout(300)
@pytest.mark.parametrize("section", sorted(SHORT))
def test_intervals_hold_the_truth_as_often_as_they_say(section: str) -> None:
    missed = [str(cell) for cell in SHORT[section]() if not cell.is_good]
    assert missed == []
