"""Motions of a robot with signs and units."""

from __future__ import annotations

import pytest

from wayword.agents.legal import Legal, Refusal
from wayword.worlds.objectnav.world import MENU

READINGS = {
    "rotate[−30]": "rotate[-30]",
    "rotate[–30]": "rotate[-30]",
    "rotate[+30]": "rotate[30]",
    "rotate[30°]": "rotate[30]",
    "rotate[-30 degrees]": "rotate[-30]",
    "rotate[angle=-30]": "rotate[-30]",
    "goto[1.5 m, 2 metres]": "goto[1.5, 2]",
    "goto[(1.5, -2.0)]": "goto[1.5, -2.0]",
    "goto[x=1.5, y=2.0]": "goto[1.5, 2.0]",
    "goto[y=2.0, x=1.5]": "goto[1.5, 2.0]",
    "rotate[0.5 rad]": "",
    "rotate[90 degrees left]": "",
    "goto[5 ft, 3 ft]": "",
    "goto[1,5, 2,0]": "",
}


@pytest.mark.parametrize("words", READINGS)
def test_a_motion_has_its_reading(words: str) -> None:
    # answers lose their typography before
    action = Legal(MENU).read(words.replace("−", "-"))
    reading = "" if isinstance(action, Refusal) else str(action)
    assert reading == READINGS[words]
