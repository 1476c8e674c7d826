"""Charges at the border of the two scales."""

from __future__ import annotations

import pytest

from wayword.worlds.objectnav.robot import RosBase, RosSettings
from wayword.worlds.objectnav.rosbridge import Link


def halted(*charges: float) -> str:
    base = RosBase(RosSettings(battery="battery"), Link("ws://127.0.0.1:1"))
    for charge in charges:
        base._on_message("/battery", {"percentage": charge})
    return base._halted


@pytest.mark.parametrize("charges", [(1.0,), (1.0433,), (1.1, 0.99), (100.0, 42.0)])
def test_the_search_goes_on(charges: tuple[float, ...]) -> None:
    assert halted(*charges) == ""


@pytest.mark.parametrize("charges", [(0.19,), (19.0,), (80.0, 1.04), (1.2,)])
def test_the_search_ends(charges: tuple[float, ...]) -> None:
    assert "charge it" in halted(*charges)
