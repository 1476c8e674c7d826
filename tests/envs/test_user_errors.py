"""An exception in a user's world, agent or reward is one line with the file and line of it."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from starlette.testclient import TestClient

from helpers import line_world
from wayword.core.blame import CodeError
from wayword.core.dataset import Dataset
from wayword.core.errors import UsageError, WaywordError
from wayword.core.trajectory import Step
from wayword.envs import make
from wayword.envs.gymnasium import MISSES
from wayword.envs.openenv import OpenEnvServer
from wayword.envs.pettingzoo import parallel
from wayword.envs.trl import environment_factory, plan_reward, prompts

MOVES = 'self.place += action.name == "right"'
RAISES = 'self.place += {"right": 1}[action.name]'
WORLD = line_world.WORLD.replace(MOVES, RAISES)
LINE = WORLD.splitlines().index(f"        {RAISES}") + 1
NAME = "wayword.envs.gymnasium:Wayword-v0"


def stepped(file: str, answer: str) -> Any:
    env = make(file)
    env.reset()
    return env.step(answer)


def stepped_by_gymnasium(file: str, answer: str) -> Any:
    env = gymnasium.make(NAME, dataset=file)
    env.reset()
    return env.step(answer)


def stepped_in_a_vector(file: str, answer: str) -> Any:
    envs = gymnasium.make_vec(NAME, num_envs=2, dataset=file)
    envs.reset()
    return envs.step((answer, answer))


def stepped_together(file: str, answer: str) -> Any:
    env = parallel(file)
    env.reset()
    return env.step({"agent": answer})


@pytest.fixture
def world(tmp_path: Path) -> str:
    (tmp_path / "line.py").write_text(WORLD)
    return str(tmp_path / "line.py")


@pytest.mark.parametrize(
    "step",
    [stepped, stepped_by_gymnasium, stepped_in_a_vector, stepped_together],
    ids=lambda each: each.__name__,
)
def test_an_exception_in_a_world_is_one_line(
    step: Callable[[str, str], Any], world: str
) -> None:
    step(world, "right")
    with pytest.raises(CodeError) as caught:
        step(world, "stop")
    assert str(caught.value) == f"KeyError: 'stop' ({world}:{LINE})"
    # The exception is the cause, with the user's frames alone.
    cause = caught.value.__cause__
    assert isinstance(cause, KeyError)
    frames = traceback.extract_tb(cause.__traceback__)
    assert [(each.filename, each.lineno) for each in frames] == [(world, LINE)]
    ours = [
        each.name
        for each in traceback.extract_tb(caught.tb)
        if "/src/wayword/" in each.filename
    ]
    # That of the vector counts the actions.
    assert len(ours) <= 2, "frames of the package say nothing to the user"


def test_an_exception_in_a_reward_is_one_line() -> None:
    def lost(step: Step) -> float:
        return 1 / len(step.decision.thought)

    env = make("houses", reward=lost)
    env.reset(seed=0)
    with pytest.raises(CodeError, match=r"^ZeroDivisionError: .*test_user_errors\.py:"):
        env.step("stop")


def test_a_reward_that_must_be_awaited_is_refused_at_opening() -> None:
    async def late(step: Step) -> float:
        return 1.0

    with pytest.raises(
        UsageError, match=r"test_user_errors\.py:\d+: reward: late must"
    ):
        make("houses", reward=late)  # type: ignore[arg-type]


AGENT = """
from wayword.core.action import STOP, Decision
from wayword.core.agent import Agent


class Mine(Agent):
    needs_model = True

    async def act(self, observation, space):
        return Decision(STOP)


agent = Mine
"""


@pytest.mark.parametrize(
    ("new", "message"),
    [
        ("raise SystemExit(3)", "SystemExit: 3 (FILE:10)"),
        ("next(iter(()))", "RuntimeError: coroutine raised StopIteration (FILE:10)"),
        ("return 'stop'", "FILE:9: act must return Decision(Action(…)) or a Rejection"),
        (
            "yield",
            "FILE:9: Mine.act must return its answer; write `return` in place of",
        ),
    ],
)
def test_a_mistake_in_an_agent_whose_prompts_are_the_view_is_one_line(
    new: str, message: str, world: str, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(AGENT.replace("return Decision(STOP)", new))
    mine = str(tmp_path / "mine.py")
    with make(world, view=mine) as env, pytest.raises(WaywordError) as caught:
        env.reset()
    assert str(caught.value).startswith(message.replace("FILE", mine))


def test_a_server_says_the_error_and_does_not_blame_the_message(world: str) -> None:
    client = TestClient(OpenEnvServer(world).app(), headers={"Host": "localhost"})
    with client.websocket_connect("/ws") as socket:
        socket.send_json({"type": "reset", "data": {}})
        socket.receive_json()
        socket.send_json({"type": "step", "data": {"text": "stop"}})
        error = socket.receive_json()["data"]
        assert error["code"] == "EXECUTION_ERROR"
        assert error["message"] == f"KeyError: 'stop' ({world}:{LINE})"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make(Dataset), r"dataset's name first.*make\('mine', dataset=Mine"),  # type: ignore[arg-type]
        (lambda: make("houses", include=3), "include must be a list of names, such as"),
        (
            lambda: make("houses", episodes=[1]),
            r"episodes must be a number of episodes or a list of ids, got \[1\]",
        ),
        (
            lambda: make("houses", view="navgpt", view_settings={"shot": 1}),
            "navgpt has no setting 'shot'; there are: captions",
        ),
    ],
)
def test_wrong_arguments_say_what_to_write(
    call: Callable[[], object], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        call()


def test_attributes_of_gymnasium_are_named_where_they_are() -> None:
    env = make("houses")
    with pytest.raises(AttributeError, match=r"'action_space'; write gymnasium\.make"):
        attrgetter("action_space")(env)
    with pytest.raises(AttributeError, match=r"has no attribute 'nothing'$"):
        attrgetter("nothing")(env)


def test_a_policy_that_ignores_the_mask_is_warned_once() -> None:
    env = gymnasium.make(NAME, dataset="houses", actions="menu", max_steps=3 * MISSES)
    env.reset(seed=0)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for _ in range(2 * MISSES):
            *_, info = env.step(999)
    assert ["numbers without an entry" in str(each.message) for each in warned] == [
        True
    ]
    assert "they go from 0 to" in info["rejection"]


@pytest.mark.parametrize("count", [MISSES - 1, MISSES, MISSES + 1])
@pytest.mark.parametrize("beyond", [-1, 0, 1])
def test_only_numbers_behind_the_last_entry_are_misses(beyond: int, count: int) -> None:
    """The first number without an entry is one; so many of them are a policy's fault."""
    env = gymnasium.make(NAME, dataset="houses", actions="menu", max_steps=3 * MISSES)
    env.reset(seed=0)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for _ in range(count):
            listed = int(env.unwrapped.action_masks().sum())
            # The last entry is the stop, after which the next episode begins.
            *_, terminated, _, info = env.step(listed + beyond)
            assert info["rejected"] == (beyond >= 0)
            if terminated:
                env.reset()
    assert len(warned) == (beyond >= 0 and count >= MISSES)


def test_a_menu_with_more_actions_than_numbers_is_refused(tmp_path: Path) -> None:
    many = 'Action("right"), *(Action(f"go{n}") for n in range(1000)), STOP'
    (tmp_path / "many.py").write_text(WORLD.replace('Action("right"), STOP', many))
    env = gymnasium.make(NAME, dataset=str(tmp_path / "many.py"), actions="menu")
    with pytest.raises(UsageError, match="lists 1,002 actions, and a menu has 1,000"):
        env.reset()


def test_mistakes_with_the_classes_for_trl_are_one_line() -> None:
    options: dict[str, Any] = {"settings": {"houses": 1, "episodes": 2}}
    rollout = environment_factory("houses", **options)()
    with pytest.raises(UsageError, match=r"call reset\(\) before"):
        rollout.act("stop")
    rollout.reset()
    rollout.act("stop")
    assert rollout.act("stop") == "The episode is over."
    with pytest.raises(UsageError, match="prompts: count must be at least 1, got 0"):
        prompts("houses", 0, **options)
    rewards = plan_reward("houses", **options)
    with pytest.raises(UsageError) as refused:
        rewards(["stop"], episode=["a", "b", "c", "d"])
    assert str(refused.value) == (
        "plan_reward needs an episode for each completion, got 1 completions and 4 episodes"
    )


def test_an_unknown_agent_of_pettingzoo_is_named(world: str) -> None:
    env = parallel(world)
    env.reset()
    for call in (env.observe, env.action_space, env.observation_space):
        with pytest.raises(
            UsageError, match="no actor is called 'bob'; there are: agent"
        ):
            call("bob")
    with pytest.raises(UsageError, match="no actor is called 'bob'"):
        env.step({"agent": "right", "bob": "right"})
    assert not env.game.trajectory.steps, "no half of a round is played"


def test_infos_of_pettingzoo_have_what_those_of_gymnasium_have(world: str) -> None:
    env = parallel(world, reward="cost")
    env.reset()
    info = env.step({"agent": "fly"})[4]["agent"]
    assert (info["rejected"], info["status"]) == (True, "rejected")
    assert "fly" in info["rejection"]
    assert info["reward_terms"] == {"success": 0.0, "cost": -0.01}
    info = env.step({"agent": "right"})[4]["agent"]
    assert (info["rejection"], info["status"]) == ("", "ok")


def test_new_scenes_of_a_world_that_draws_none_are_refused_at_opening(
    world: str,
) -> None:
    with pytest.raises(UsageError, match="generates no scenes; remove new_scenes"):
        make(world, new_scenes=True)


def test_a_menu_lists_each_action_of_a_users_world_once(world: str) -> None:
    text, _ = make(world, actions="menu").reset()
    assert (text.count("right"), "0: right" in text) == (1, True)


def test_a_misspelled_view_names_the_near_one() -> None:
    expected = "view must be text, structured, or the name of an agent: got 'structred'; did you"
    with pytest.raises(UsageError, match=f"{expected} mean 'structured'\\?$"):
        make("houses", view="structred")
    with pytest.raises(UsageError, match="no agent is called 'zzz'; there are: "):
        make("houses", view="zzz")


def test_an_illegal_action_of_an_expert_names_its_plan(tmp_path: Path) -> None:
    file = tmp_path / "line.py"
    plan = """
    solutions = ("expert",)

    def make_plan(self, task, world, actor, kind):
        yield Action("rigth")
"""
    judge = "    def succeeded("
    file.write_text(line_world.WORLD.replace(judge, f"{plan}\n{judge}"))
    env = make(str(file), include=["expert_action"])
    problem = r"line.py:\d+: the expert's action rigth is not legal at step 1; did you mean right?"
    with pytest.raises(CodeError, match=problem):
        env.reset()


TWO = line_world.WORLD.replace(
    "class Line(World):", 'class Line(World):\n    actors = ("helper", "walker")'
).replace('"line", {})', '"line", {}, Line.actors)')


def test_an_agent_that_cannot_play_the_others_is_named_by_its_option(
    tmp_path: Path,
) -> None:
    file = tmp_path / "pair.py"
    file.write_text(TWO)
    with pytest.raises(
        UsageError, match=r"^others=team acts in household worlds, and "
    ):
        make(str(file)).reset()
    make(str(file), others="random").reset()


EXPERT = """
    solutions = ("expert",)

    def make_plan(self, task, world, actor, kind):
        while f"to_{world.place}" != task.episode.id:
            yield Action("right")

    def succeeded"""


def test_an_expert_whose_plan_ends_without_a_stop_stops_as_in_a_run(
    tmp_path: Path,
) -> None:
    file = tmp_path / "line.py"
    file.write_text(line_world.WORLD.replace("\n    def succeeded", EXPERT))
    env = make(str(file), include=["expert_action"])
    for number in (1, 2, 3):
        _, info = env.reset(episode=f"to_{number}")
        commands = []
        ended = False
        while not ended:
            commands.append(info["expert_action"])
            *_, ended, _, info = env.step(info["expert_action"])
        assert commands == [*["right"] * number, "stop"]
        assert info["success"]
        assert info["expert_action"] is None


def test_a_reward_with_other_parameters_is_named_by_its_line() -> None:
    def three(step: Step, game: object, more: object) -> float:
        return 0.0

    line = three.__code__.co_firstlineno
    expected = rf"test_user_errors.py:{line}: reward: .*, got \(step: .*, more: .*\)"
    with pytest.raises(UsageError, match=expected):
        make("houses", reward=three)
