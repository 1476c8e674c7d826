"""Charges of a battery as drivers send them."""

from __future__ import annotations

from typing import Any

import pytest

from wayword.worlds.objectnav.robot import RosBase, RosSettings


def halted(*percentages: Any) -> str:
    """The problem that ends a search after these messages; empty if none does."""
    base = RosBase(RosSettings(battery="battery", least_charge=0.2))
    for percentage in percentages:
        base._on_message("/battery", {"percentage": percentage})
    return base._halted


@pytest.mark.parametrize("charges", [(0.87,), (1.0,), (87.0,), (100,), (87, 21)])
def test_a_charged_battery_ends_no_search(charges: tuple[float, ...]) -> None:
    assert halted(*charges) == ""


@pytest.mark.parametrize("charges", [(0.1,), (87, 19), (87, 1)])
def test_a_low_battery_ends_the_search_in_either_unit(
    charges: tuple[float, ...],
) -> None:
    assert "charge it" in halted(*charges)


@pytest.mark.parametrize("names", [("capacity",), ("design_capacity",)])
def test_the_charge_tells_one_percent_from_a_full_battery(
    names: tuple[str, ...],
) -> None:
    for charge, low in ((0.05, True), (4.4, False), (None, False)):
        base = RosBase(RosSettings(battery="battery", least_charge=0.2))
        measured = {"charge": charge, **dict.fromkeys(names, 5.0)}
        base._on_message("/battery", {"percentage": 1.0, **measured})
        assert ("the battery is at 1%" in base._halted) == low


@pytest.mark.parametrize("charge", [None, float("nan"), -0.01, 101, "87"])
def test_a_charge_that_was_not_measured_names_the_topic(charge: Any) -> None:
    problem = halted(charge)
    assert problem.startswith("/battery: the percentage must be between 0 and 1")
    assert "leave dataset.battery empty" in problem
