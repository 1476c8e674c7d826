"""A pot with a potato in it: carried, and put where it cannot go."""

from __future__ import annotations

from wayword.core.action import Action
from wayword.core.episode import Episode
from wayword.worlds.household.builder import SceneBuilder
from wayword.worlds.household.goals import holders_of
from wayword.worlds.household.world import HouseholdWorld


class Kitchen:
    """A pot with a potato in it and a pan on a counter, and a stove."""

    def __init__(self) -> None:
        scene = SceneBuilder("flat")
        scene.room("kitchen", [(0, 0), (5, 0), (5, 4), (0, 4)])
        counter = scene.furniture(
            "counter", 2, 3.6, 2.5, 0.6, 0.9, receptacle="on", capacity=20
        )
        scene.furniture(
            "stove_burner", 4.3, 3.6, 0.5, 0.5, 0.9, receptacle="on", capacity=3
        )
        pot = scene.item("pot", parent=counter, x=1.2, receptacle="in", capacity=4)
        scene.item("pan", parent=counter, x=1.7, receptacle="in", capacity=4)
        scene.item("potato", parent=pot)
        self.world = HouseholdWorld(scene.build())
        pose = {"agent": {"x": 2.0, "y": 1.5, "heading": 0.0}}
        self.world.reset(Episode("1", "x", "flat", {"poses": pose}))
        self.world.observe("agent")

    def do(self, verb: str, *arguments: str) -> str:
        feedback = self.world.step("agent", Action(verb, arguments))
        self.world.observe("agent")
        return feedback.status

    def holders(self, kind: str) -> list[str]:
        state = self.world.state()
        name = next(name for name in state["objects"] if name.startswith(f"{kind}|"))
        return list(holders_of(state, name))


def test_a_potato_goes_where_its_pot_goes() -> None:
    kitchen = Kitchen()
    assert kitchen.do("go_grab", "pot_1") == "ok"
    assert kitchen.do("go_put", "stove_burner_1") == "ok"
    assert kitchen.holders("potato") == ["pot|1", "stove_burner|1"]


def test_nothing_contains_itself() -> None:
    kitchen = Kitchen()
    assert kitchen.do("go_grab", "pot_1") == "ok"
    assert kitchen.do("put", "pot_1", "pot_1") == "inside_itself"
    assert kitchen.do("go_put", "pan_1") == "ok"
    assert kitchen.do("go_grab", "pan_1") == "ok"
    assert kitchen.do("put", "pan_1", "pot_1") == "inside_itself"
    assert kitchen.do("drop", "pan_1") == "ok"
    assert kitchen.holders("potato") == ["pot|1", "pan|1"]
