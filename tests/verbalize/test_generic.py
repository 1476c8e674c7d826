"""Any world in words: what is told of each, and what is told of one that has no voice yet."""

from __future__ import annotations

import pytest

from helpers.small_flat import LampSeen
from helpers.small_house import SmallHouse, SmallPerceiver
from wayword.agents.pages import Prompts
from wayword.agents.strategies import strategy
from wayword.core import registry
from wayword.core.action import Action
from wayword.core.world import Feedback
from wayword.verbalize import generic
from wayword.worlds.street.world import StreetObservation

EVERY = [registry.load("verbalizer", name) for name in registry.names("verbalizer")]


def test_a_viewpoint_is_reported_with_what_a_perceiver_sees_and_without() -> None:
    house = SmallHouse()
    world = house.world(house.tasks[0].episode)
    world.reset(house.tasks[0].episode)
    world.step("agent", Action("goto", ("b",)))
    world.step("agent", Action("goto", ("c",)))
    world.step("agent", Action("goto", ("b",)))
    seen = world.observe("agent")
    voice = generic.verbalizer(seen)
    assert voice.self_state(seen)[1] == 'You are at viewpoint "b", facing 270° (west).'
    assert voice.around(seen, None).splitlines() == [
        "Front: Ways: goto[a] (ahead, 3.0 m).",
        "Right: Ways: goto[d] (right 90°, 2.0 m).",
        "Rear: Ways: goto[c] (behind, 2.0 m).",
        "Left: Ways: goto[s] (left 90°, 2.0 m).",
    ]
    text = voice.around(seen, SmallPerceiver())
    assert "Rear: b to the east. Near: lamp (right 170°, 1.2 m). Ways: goto[c]" in text


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (0.0, 0.0, "You went straight on."),
        (0.0, 90.0, "You turned right by 90° and went on."),
        (10.0, 350.2, "You turned left by 20° and went on."),
        (0.0, 180.0, "You went back."),
    ],
)
def test_indoor_moves(before: float, after: float, words: str) -> None:
    feedback = Feedback("ok", {"heading_before": before, "heading": after})
    house = SmallHouse()
    world = house.world(house.tasks[0].episode)
    voice = generic.verbalizer(world.observe("agent"))
    assert generic.feedback(feedback, voice) == words
    assert generic.feedback(Feedback(), voice) == "You stopped."


@pytest.mark.parametrize(
    ("angles", "changed", "words"),
    [
        ((-90, 0, 90), True, "There is a 3-way intersection."),
        ((-90, 0, 90), False, "You are still at the intersection."),
        ((0, 180), True, "The street goes on."),
        ((180,), True, "The street ends here."),
    ],
)
def test_streets(angles: tuple[int, ...], changed: bool, words: str) -> None:
    seen = StreetObservation("town", "p1", 92, angles, changed, 1)
    voice = generic.verbalizer(seen)
    assert voice.around(seen, None) == words
    assert voice.self_state(seen)[1] == "You face 92° (east)."
    first = StreetObservation("town", "p1", 92, angles, changed, 0)
    assert voice.around(first, None).startswith(
        f"{words}\nLandmarks are not reported here"
    )


@pytest.mark.parametrize(
    ("status", "executed", "words"),
    [
        ("ok", "forward", "You went forward."),
        ("ok", "left", "You turned left."),
        ("ok", "turn_around", "You turned around."),
        (
            "no_turn",
            "forward",
            "There is no way to turn into here, so you went forward.",
        ),
        ("dead_end", "stop", "The street ends here, so you stopped."),
    ],
)
def test_street_moves(status: str, executed: str, words: str) -> None:
    voice = generic.verbalizer(StreetObservation("town", "p1", 0, (0,), True, 0))
    assert generic.feedback(Feedback(status, {"executed": executed}), voice) == words


def test_a_world_without_a_voice_is_reported_all_the_same() -> None:
    seen = LampSeen("off")
    voice = generic.verbalizer(seen)
    assert voice is generic.PLAIN
    assert (voice.around(seen, None), voice.self_state(seen)[1]) == ("lamp: off", "")
    assert (
        generic.feedback(Feedback("dark", {"by": "night"}), voice)
        == "Result: dark, by: night."
    )


def test_a_rejection_is_reported_the_same_in_every_world() -> None:
    feedback = Feedback(
        "rejected", {"kind": "unknown", "reason": "there is no action 'fly'"}
    )
    for voice in (generic.PLAIN, *EVERY):
        assert (
            generic.feedback(feedback, voice)
            == "Not an action: there is no action 'fly'."
        )


def test_every_voice_has_its_rules_and_its_actions() -> None:
    prompts = Prompts(strategy.__file__, page=strategy.Strategy.page)
    for voice in (generic.PLAIN, *EVERY):
        for block in ("goal", "rules", "actions", "example"):
            assert f"{block}_{voice.name}" in prompts
