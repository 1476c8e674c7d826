"""A whole LGX episode with a robot over a real websocket, through every fault there is."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import wayword
from helpers.rosbridge_server import Robot, serving, started
from wayword.agents.search.lgx import LGX, LGXSettings
from wayword.core import registry
from wayword.core.agent import Agent, Toolkit
from wayword.core.errors import UsageError
from wayword.core.perceiver import Detection, GroundedRegion, Perceiver
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import Trajectory
from wayword.datasets.robot import RobotSettings, RobotTasks
from wayword.metrics.scoring import scorer
from wayword.models.scripted import ScriptedModel
from wayword.perception.detectors import detector_called
from wayword.runs.differences import comparisons
from wayword.runs.identity import caveats
from wayword.runs.opening import open_agent, open_dataset
from wayword.runs.plan import Plan
from wayword.settings import make
from wayword.viewer.content import Content
from wayword.viewer.library import Library
from wayword.viewer.plots.display import plot
from wayword.worlds.objectnav.observation import Shown, View
from wayword.worlds.objectnav.simulated import SimulatedBase, SimulatedScene
from worlds.objectnav.test_finding_world import flat

QUICK = {"settle": 0.0, "throttle": 0, "answer": 20.0, "motion": 1.0}


class ReadsPictures(Perceiver):
    """The tests' pictures say what is in them; otherwise a simulated detector."""

    def __init__(self, name: str) -> None:
        self._detector = detector_called(name)
        self.name = f"pictures:{name}"

    def detect(self, view: View) -> list[Detection]:
        return self._detector.detect(seen_in(view))

    def ground(self, view: View, phrase: str) -> GroundedRegion | None:
        return self._detector.ground(seen_in(view), phrase)


def seen_in(view: View) -> View:
    assert view.shown is None  # a robot is told nothing but what its camera gives
    return replace(view, shown=tuple(Shown(*one) for one in json.loads(view.image)))


class Settings(LGXSettings):
    """LGX's, with eyes for the tests' pictures."""

    def detectors(self) -> tuple[Perceiver, ...]:
        return ReadsPictures("perfect"), ReadsPictures("perfect")


def play(robot: Robot, target: str = "vase", **changes: Any) -> Trajectory:
    def build(toolkit: Toolkit, actor: str) -> Agent:
        return LGX(Settings(), toolkit)

    dataset = RobotTasks(
        settings=RobotSettings(url=robot.url, target=target, **QUICK, **changes)
    )
    setup = Setup(
        dataset, build, {"main": ScriptedModel("first")}, seed=0, max_steps=60
    )
    return asyncio.run(rollout(dataset.tasks[0], setup))


def robot(faults: Mapping[int, str] | None = None) -> Robot:
    """In the kitchen, from where the vase in the hall cannot be seen."""
    base = SimulatedBase(SimulatedScene(flat(), {}))
    return Robot(started(base, 1.0, 0.5, 90.0), faults)


def statuses(trajectory: Trajectory) -> list[str]:
    return [step.feedback.status for step in trajectory.steps if not step.feedback.ok]


def test_lgx_finds_the_vase_through_a_dropped_connection_a_refusal_and_silence() -> (
    None
):
    body = robot({3: "drop", 7: "refuse", 10: "ignore"})
    with serving(body):
        trajectory = play(body)
    assert (trajectory.ended, trajectory.error) == ("stopped", "")
    assert statuses(trajectory) == ["lost", "refused", "lost"]
    reasons = [
        s.feedback.details["reason"] for s in trajectory.steps if not s.feedback.ok
    ]
    assert reasons[0].startswith("the connection broke; restored after")
    assert reasons[1] == "Action goal was rejected"
    # The bridge says nothing of an action that it does not know: the user needs the two causes.
    hint = "without feedback: does /spin run, and rosbridge 2.0?"
    assert reasons[2:] == [f"cancelled after 1 s, {hint}"]
    blocked = [
        note.details["status"] for note in trajectory.notes() if note.kind == "blocked"
    ]
    assert blocked == ["lost", "refused", "lost"]
    assert any(
        note.kind == "asked" and note.details["valid"] for note in trajectory.notes()
    )
    assert any(note.kind == "grounded" for note in trajectory.notes())
    assert (trajectory.state["lost"], trajectory.state["refused"]) == (2, 1)
    assert trajectory.state["reconnections"] == 1
    assert "vase" in {
        one["id"] for one in body.base.report()["in_view"]
    }  # it truly is in view


def test_a_drop_while_it_goes_leaves_the_robot_where_the_agent_thinks_it_is() -> None:
    for number in (13, 14):  # the first goals after the full turn: going, not turning
        body = robot({number: "drop"})
        with serving(body):
            trajectory = play(body)
        assert trajectory.ended == "stopped"
        assert statuses(trajectory)[:1] == ["lost"]
        where = trajectory.steps[-1].pose
        truth = body.base.pose()
        assert (where["x"], where["y"]) == pytest.approx(
            (truth["x"], truth["y"]), abs=1e-3
        )
        assert "vase" in {one["id"] for one in body.base.report()["in_view"]}


def test_a_robot_that_cannot_be_reached_fails_its_episode_in_one_line() -> None:
    body = robot()
    body.url = "ws://127.0.0.1:9"
    trajectory = play(body, patience=1.0)
    assert trajectory.ended == "failed"
    assert "no rosbridge at ws://127.0.0.1:9 within 1 s" in trajectory.error


@pytest.mark.parametrize(
    "target", ["cat-shaped mug | red ball", "cat-shaped mug, red ball,"]
)
def test_episodes_are_typed_and_no_one_judges_them(target: str) -> None:
    tasks = RobotTasks(settings=RobotSettings(target=target)).tasks
    assert [task.episode.id for task in tasks] == ["cat_shaped_mug", "red_ball"]
    assert [task.episode.instruction for task in tasks] == [
        "Find the cat-shaped mug.",
        "Find the red ball.",
    ]
    walk = RobotTasks(settings=RobotSettings(instruction="Go through the door.")).tasks
    assert walk[0].episode.id == "follow"
    assert (walk[0].episode.instruction, walk[0].episode.extra) == (
        "Go through the door.",
        {},
    )
    # Both: the words are the user's, the target is that of the detector.
    settings = RobotSettings(target="mug", instruction=" Bring me the mug. ")
    (both,) = RobotTasks(settings=settings).tasks
    assert both.episode.instruction == "Bring me the mug."
    assert both.episode.extra == {"target": "mug"}
    scored = scorer("objectnav").score(RobotTasks(settings=RobotSettings(target="x")), [
        (tasks[0], Trajectory("1", start={}, state={"stopped": True, "metres": 3.0}))
    ])  # fmt: skip
    assert scored == [{"blocked": 0.0, "lost": 0.0, "metres": 3.0, "found": 0.0}]


def test_two_settings_of_one_topic_are_refused() -> None:
    for other in ("scan", "/scan", "/robot1/scan"):
        with pytest.raises(UsageError, match=r"odometry and depth are both '/.*scan'"):
            RobotSettings(
                target="mug",
                odometry=other,
                namespace="robot1" if "robot1" in other else "",
            )
    # Poses come from transforms, so this topic is not read.
    assert RobotSettings(target="mug", odometry="scan", pose_from="tf")


def test_episodes_of_one_target_have_one_name_in_every_list() -> None:
    def names(target: str) -> list[str]:
        tasks = RobotTasks(settings=RobotSettings(target=target)).tasks
        return [task.episode.id for task in tasks]

    assert names("sofa,mug,sofa") == ["sofa", "mug", "sofa_2"]
    assert names("mug,sofa") == ["mug", "sofa"]
    assert names("杯子,书") == names("书,杯子")[::-1]


def test_a_base_file_that_does_not_exist_is_named(tmp_path: Path) -> None:
    """It is the user's own file: no data can be fetched."""
    chosen = RobotSettings(target="mug", base=f"{tmp_path}/cartt.py")
    with pytest.raises(UsageError, match=r"/cartt\.py: no such file$"):
        RobotTasks(settings=chosen).files  # noqa: B018 - read when asked


def test_without_a_target_one_line_says_what_to_type() -> None:
    with pytest.raises(
        UsageError, match=r"robot needs a target: --set dataset.target="
    ):
        open_dataset(Plan("robot", "robot"))


@pytest.mark.parametrize("target", ["sofa,,mug", ",mug", "sofa| |mug"])
def test_a_list_of_targets_has_a_name_at_each_place(target: str) -> None:
    with pytest.raises(UsageError, match="must have a name on each side of"):
        RobotTasks(settings=RobotSettings(target=target))


def test_milliseconds_between_messages_are_not_negative() -> None:
    with pytest.raises(UsageError, match="throttle must be at least 0, got -5"):
        RobotSettings(target="mug", throttle=-5)


@pytest.mark.parametrize("name", ["reach", "patience", "answer", "motion", "settle"])
@pytest.mark.parametrize("value", [math.inf, math.nan, -1.0])
def test_lengths_and_times_are_finite(name: str, value: float) -> None:
    with pytest.raises(UsageError, match=f"{name} must be .*, got"):
        RobotSettings(target="mug", **{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("agent", "settings"),
    [
        ("lgx", {}),
        ("lgx", {"grounding": "owlv2:nowhere"}),
        ("frontier", {}),
        ("discussnav", {}),
    ],
)
def test_a_detector_that_only_a_simulation_can_answer_moves_no_robot(
    agent: str, settings: dict[str, str]
) -> None:
    """It would see nothing, search all the same, and ask about false alarms."""
    cls = registry.load("agent", agent)
    body = robot()
    with serving(body) as url:
        chosen = RobotSettings(url=url, target="vase", **QUICK)
        dataset = RobotTasks(settings=chosen)
        made = make(cls.Settings, settings, agent)
        models = {"main": ScriptedModel("first")}
        setup = Setup(
            dataset, lambda toolkit, actor: cls(made, toolkit), models, max_steps=60
        )
        with pytest.raises(UsageError, match=r"simulated:\w+ needs the ground truth"):
            asyncio.run(rollout(dataset.tasks[0], setup))
    assert body.goals == 0


def test_a_text_agent_is_not_shown_that_nothing_is_in_view_of_a_robot() -> None:
    from wayword.verbalize.objectnav import around

    with serving(robot()) as url:
        dataset = RobotTasks(settings=RobotSettings(url=url, target="vase", **QUICK))
        world = dataset.world(dataset.tasks[0].episode)
        world.reset(dataset.tasks[0].episode)
        text = around(world.observe("agent"))
    assert text.startswith("Free way: ")
    assert "in view" not in text


YARD = """
from testing.test_check_base import Here as base
"""
WAITS = """
import asyncio
from wayword.core.action import STOP, Decision
from wayword.core.agent import Agent

class Waits(Agent):
    families = frozenset({"objectnav"})
    async def act(self, observation, space):
        await asyncio.sleep(0.01)  # as for an answer of a model: other episodes could go on
        return Decision(STOP)
agent = Waits
"""


def test_episodes_share_the_robot_one_at_a_time(tmp_path: Path) -> None:
    base, agent = tmp_path / "yard.py", tmp_path / "waits.py"
    base.write_text(YARD)
    agent.write_text(WAITS)
    settings = {"dataset": {"target": "vase|mug|cup", "base": str(base)}}
    out = tmp_path / "run"
    result = wayword.run(str(agent), "robot", out=out, concurrency=8, settings=settings)
    assert [each.trajectory.ended for each in result.episodes] == ["stopped"] * 3
    assert "one episode at a time, as they share the robot" in result.notices
    with pytest.raises(UsageError, match=r"engine ray .* cannot share a robot"):
        wayword.run(str(agent), "robot", out=out, engine="ray", settings=settings)


def test_a_map_without_the_runs_own_file_says_what_it_lacks(tmp_path: Path) -> None:
    """It shows the walk alone, which must not pass for the whole map."""
    base, agent = tmp_path / "yard.py", tmp_path / "waits.py"
    base.write_text(YARD)
    agent.write_text(WAITS)
    run = tmp_path / "run"
    settings = {"dataset": {"target": "mug", "base": str(base)}}
    wayword.run(str(agent), "robot", out=run, settings=settings)
    (notice,) = plot([run], "map").notices
    assert "yard.py" in notice
    assert "--with FILE" in notice
    assert plot([run], "map", trusted=[base]).notices == ()
    base.write_text(YARD + "# changed\n")
    (notice,) = plot([run], "map", trusted=[base]).notices
    assert "the data differ from the run's" in notice


PLACED = """
from testing.test_check_base import Here

class Placed(Here):
    def start(self, episode):
        super().start(episode)
        self.go_to({x}, 0.5)

base = Placed
"""


def test_comparisons_and_figures_note_searches_from_different_starts(
    tmp_path: Path,
) -> None:
    agent = tmp_path / "waits.py"
    agent.write_text(WAITS)
    runs = []
    for name, x in (("near", 1.0), ("next", 1.2), ("far", 2.4)):
        base = tmp_path / f"{name}.py"
        base.write_text(PLACED.format(x=x))
        settings = {"dataset": {"target": "mug", "base": str(base)}}
        out = tmp_path / "runs" / name
        wayword.run(str(agent), "robot", out=out, settings=settings)
        runs.append(out)
    note = "mug: starts 1.4 m apart; drive the robot back to its start before each run"
    _, notices = comparisons([runs[0], runs[2]])
    assert note in notices
    _, notices = comparisons(runs)
    assert [each for each in notices if "apart" in each] == [f"{runs[2]}: {note}"]
    for kind in ("pairs", "length"):
        assert any(note in each for each in plot([runs[0], runs[2]], kind).notices)
        assert not any("apart" in each for each in plot(runs[:2], kind).notices)
    page = Content(Library([tmp_path / "runs"])).compare(["near", "far"])
    assert note in page


def test_a_misspelled_agent_is_named_before_a_missing_target(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="lgxx"):
        wayword.run("lgxx", "robot", out=tmp_path / "run")


def test_bearings_that_may_be_radians_are_a_notice(tmp_path: Path) -> None:
    page = Path(__file__).parents[2] / "docs" / "robots.md"
    text = page.read_text().partition('title="cart.py"\n')[2].partition("```")[0]
    base = tmp_path / "cart.py"
    note = "all bearings in shown are below 1.6; are they in radians?"
    for bearing, is_noted in (("off", False), ("math.radians(off)", True)):
        base.write_text(text.replace("bearing=off,", f"bearing={bearing},"))
        settings = {"dataset": {"target": "mug", "base": str(base)}}
        settings |= {"grounding": "perfect"}
        out = tmp_path / bearing
        result = wayword.run("frontier", "robot", out=out, settings=settings)
        assert any(note in line for line in result.notices) is is_noted


def test_errors_of_a_simulated_detector_are_not_added_to_those_of_a_base(
    tmp_path: Path,
) -> None:
    base = tmp_path / "yard.py"
    base.write_text(YARD)
    settings = {"dataset": {"target": "mug", "base": str(base)}}
    with pytest.raises(
        UsageError, match=r"simulated:glip needs .* or perfect for what"
    ):
        wayword.run("frontier", "robot", out=tmp_path / "run", settings=settings)


def test_a_perfect_detector_is_no_upper_bound_on_a_robot(tmp_path: Path) -> None:
    base = tmp_path / "yard.py"
    base.write_text(YARD)
    settings = {"dataset": {"target": "mug", "base": str(base)}, "grounding": "perfect"}
    plan = Plan("frontier", "robot", settings=settings)
    dataset = open_dataset(plan)
    notes = caveats(dataset, open_agent(plan, dataset))
    assert notes == [
        "simulated:perfect reads what the robot's own detector found, with its errors"
    ]
    simulated = Plan("frontier", "apartments", settings={"grounding": "perfect"})
    dataset = open_dataset(simulated)
    notes = caveats(dataset, open_agent(simulated, dataset))
    assert (
        "simulated:perfect detects without error: an upper bound for detectors" in notes
    )
