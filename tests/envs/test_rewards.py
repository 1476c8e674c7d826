"""Rewards over several steps: each term pays for what changed, to the actor that it belongs to."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from helpers.generated import generated
from helpers.sampling import LONG
from helpers.two_in_a_flat import TwoInAFlat
from wayword.agents import legal
from wayword.core.action import Action, Decision, Rejection
from wayword.core.blame import CodeError
from wayword.core.errors import UsageError
from wayword.core.trajectory import Step
from wayword.envs import Environment, make
from wayword.envs.game import TaskGame
from wayword.envs.openenv import OpenEnvServer
from wayword.envs.rewards import PRESETS, Reward, RewardMeter
from wayword.runs import Plan, RunFolder, run
from wayword.runs.opening import open_dataset

# A world without a distance and without an expert.
KEYS = """
from dataclasses import dataclass

from wayword.core.action import STOP, Action, ActionSpace
from wayword.core.dataset import Dataset, Task
from wayword.core.episode import Episode, Reference
from wayword.core.world import Family, Feedback, Observation, World


@dataclass(frozen=True)
class Room(Observation):
    is_open: bool


class Escape(World):
    def reset(self, episode):
        self.is_open = False
        self.stopped = False

    def observe(self, actor):
        return Room(self.is_open)

    def action_space(self, actor):
        return ActionSpace((Action("open"), STOP))

    def step(self, actor, action):
        self.is_open |= action.name == "open"
        self.stopped = action == STOP
        return Feedback()

    def done(self, actor):
        return self.stopped

    def state(self):
        return {"open": self.is_open}


class Escapes(Dataset):
    family = Family("escape")
    tasks = [Task(Episode("one", "Open the door, then stop.", "room", {}), Reference("one"))]

    def world(self, episode):
        return Escape()

    def succeeded(self, task, trajectory):
        return bool(trajectory.state["open"])


dataset = Escapes
"""
HOUSE: dict[str, Any] = {"houses": 1, "episodes": 4}
SHARED: dict[str, Any] = {"homes": 1, "episodes": 1, "task": "Coffee"}
EXTRA_INFO = ("distance", "expert_action")
TERMS = {"success": 1.0, "progress": 2.0, "cost": 0.1, "rejected": 0.5}


@pytest.fixture(scope="module")
def shared() -> Environment:
    """The second of two actors; the first one plays along."""
    terms = {"success": 1.0, "cost": 0.25, "rejected": 0.5}
    return make(
        "ma_household", actor="follower", max_steps=40, reward=terms, settings=SHARED
    )


def test_progress_pays_the_way_covered_by_each_step_and_a_way_back_costs_it() -> None:
    env = make("houses", settings=HOUSE, reward=TERMS, max_steps=60, include=EXTRA_INFO)
    _, info = env.reset(episode=0)
    total = left = info["distance"]
    start = env.game.world.pose("agent")["viewpoint"]
    paid = []
    over = False
    actions = [info["expert_action"], "sing", f"goto[{start}]"]
    while not over:
        words = actions.pop(0) if actions else info["expert_action"]
        _, reward, ended, cut, info = env.step(words)
        over = ended or cut
        terms = info["reward_terms"]
        assert terms["progress"] == pytest.approx(
            2.0 * (left - info["distance"]) / total
        )
        assert terms["cost"] == -0.1
        assert terms["rejected"] == (-0.5 if words == "sing" else 0.0)
        assert terms["success"] == float(over)
        assert reward == pytest.approx(sum(terms.values()))
        left = info["distance"]
        paid.append(terms["progress"])
    assert paid[0] > 0 == paid[1]
    assert paid[2] == pytest.approx(-paid[0]), "back at the start"
    assert sum(paid) == pytest.approx(2.0)


def test_conditions_pay_when_they_come_to_hold_and_no_second_time() -> None:
    env = make(
        "household",
        settings={"homes": 1, "episodes": 2},
        reward="conditions",
        include=EXTRA_INFO,
    )
    _, info = env.reset(episode=0)
    share = 0.0
    over = False
    gained = 0
    while not over:
        _, reward, ended, cut, info = env.step(info["expert_action"])
        over = ended or cut
        standing = env.game.standing()
        assert standing is not None
        assert reward == pytest.approx(standing.met / standing.parts - share)
        gained += reward > 0
        share = standing.met / standing.parts
    assert share == 1.0
    assert gained >= 1


def test_an_actor_pays_for_its_own_turns_alone(shared: Environment) -> None:
    shared.reset(episode=0)
    for number, words in enumerate(
        ("turn_left", "dance", "turn_left", "turn_right"), 1
    ):
        _, reward, _, _, info = shared.step(words)
        rejected = -0.5 if words == "dance" else 0.0
        assert info["reward_terms"] == {
            "success": 0.0,
            "cost": -0.25,
            "rejected": rejected,
        }
        assert reward == pytest.approx(rejected - 0.25)
        assert info["steps"] == number
        assert len(shared.game.trajectory.steps) == 2 * number + 1, (
            "the other one is a turn ahead"
        )


def test_a_clone_is_paid_from_where_it_was_made() -> None:
    env = make("houses", settings=HOUSE, reward={"progress": 1.0}, include=EXTRA_INFO)
    _, info = env.reset(episode=0)
    env.step(info["expert_action"])
    other = env.clone()
    words = env.game.expert_action("agent")
    assert words is not None
    assert other.step(words)[1] == pytest.approx(env.step(words)[1])


def test_the_experts_remaining_length_is_that_of_a_game_played_afresh(
    shared: Environment,
) -> None:
    """Whoever moved last, and whether or not the expert was followed."""
    shared.reset(episode=0)
    for words in (
        "turn_left",
        "turn_left",
        shared.game.expert_action("follower") or "turn_left",
    ):
        shared.step(words)
        game = shared.game
        afresh = TaskGame(game.dataset, game.task, 40)
        for step in game.trajectory.steps:
            afresh.act(step.actor, step.decision)
        for actor in game.world.actors:
            assert game.remaining(actor) == afresh.remaining(actor) is not None


def _first_but_stop(legal: Legal) -> str:
    return next((each for each in legal() if not each.startswith("stop")), "wait")


Legal = Callable[[], list[str]]
"""Lists the legal actions: only policies that read them pay for the list."""
DEGENERATE: dict[str, Callable[[str, Legal, int], str]] = {
    "empty": lambda seen, legal, turn: "",
    "first action": lambda seen, legal, turn: legal()[0],
    "repeats": lambda seen, legal, turn: _first_but_stop(legal),
    "stops at once": lambda seen, legal, turn: "stop",
    "chats": lambda seen, legal, turn: ("chat[Please do it all.]", "stop")[
        min(turn, 1)
    ],
    "shotgun": lambda seen, legal, turn: "\n".join(legal()),
    "makes up observations": lambda seen, legal, turn: (
        "Action: wait\nObservation: You have solved it.\nAction: stop"
    ),
    "claims success": lambda seen, legal, turn: (
        '{"success": true, "reward": 1, "done": true}'
    ),
    "repeats the prompt": lambda seen, legal, turn: seen,
    "stops in many ways": lambda seen, legal, turn: ("stop[]", "stop[done]", "STOP!")[
        turn % 3
    ],
}
MOST_STEPS = 25 if LONG else 10
WORLDS: dict[str, dict[str, Any]] = {
    "houses": HOUSE,
    "towns": {"towns": 1, "episodes": 4},
    "household": {"homes": 1, "episodes": 7},
    "rearrangement": {"homes": 1, "episodes": 2},
    "grounding": {"levels": ("GoToObj", "PickupLoc", "Open"), "episodes": 6},
    "grounding_homes": {"homes": 1, "episodes": 2},
    "apartments": {"homes": 1, "episodes": 4},
    "iqa": {"homes": 1, "episodes": 6},
    "two_phase": {},
    "two_phase_home": {},
    "ma_wah": {"homes": 1, "episodes": 2},
    "ma_household": SHARED,
}


def test_every_generated_world_is_played_by_policies_that_solve_nothing() -> None:
    assert {*generated()} == {*WORLDS}, "add the new dataset to WORLDS"


def test_a_guess_is_paid_as_often_as_the_page_says() -> None:
    """Success in IQA is to be read over that of one answer to everything."""
    dataset = open_dataset(Plan("random", "iqa"))
    answers = [getattr(task.reference, "answer", "") for task in dataset.tasks]
    page = (Path(__file__).parents[2] / "docs" / "environments.md").read_text(
        encoding="utf-8"
    )
    assert f"({answers.count('yes')} of {len(answers)})" in " ".join(page.split())
    assert answers.count("yes") == max(map(answers.count, answers))


@pytest.mark.parametrize("name", WORLDS)
def test_policies_that_solve_nothing_are_paid_nothing(name: str) -> None:
    env = make(name, settings=WORLDS[name], max_steps=MOST_STEPS, episodes=8)
    assert len(DEGENERATE) == 10

    def legal() -> list[str]:
        return env.game.legal_actions(env.actor)

    for policy, answer in DEGENERATE.items():
        for episode in range(len(env.tasks)):
            seen, _ = env.reset(episode=episode)
            total = 0.0
            over = False
            turn = 0
            while not over:
                words = answer(seen, legal, turn)
                seen, reward, terminated, truncated, _ = env.step(words)
                total = total + reward
                over = terminated or truncated
                turn = turn + 1
            assert total == 0.0, f"{policy}, episode {episode}"


def test_who_shares_a_task_is_paid_its_own_share(tmp_path: Path) -> None:
    """The parts of a team's success add up to one; a helper's work pays the policy nothing."""
    tasks = {"homes": 1, "episodes": 1}
    run(Plan("team", "ma_wah", settings={"dataset": tasks}, out=tmp_path))
    (record,) = RunFolder.read(tmp_path).records()
    env = make("ma_wah", settings=tasks)
    env.reset(episode=record.episode_id)
    game = TaskGame(env.dataset, env.game.task, env.max_steps)
    meters = {actor: RewardMeter(Reward(), actor, game) for actor in game.world.actors}
    for step in record.trajectory.steps:
        game.act(step.actor, step.decision)
    paid = {
        a: meter.measure(game, game.trajectory.steps, has_ended=True)["success"]
        for a, meter in meters.items()
    }
    assert sum(paid.values()) == pytest.approx(1.0)
    assert all(0 < each < 1 for each in paid.values()), paid
    *_, reward, _, _, info = env.step("stop")
    assert (reward, info["success"]) == (0.0, True), "the helper solved it alone"
    with pytest.raises(UsageError, match="progress cannot be split"):
        make("ma_wah", dataset=env.dataset, reward="progress").reset()


def test_success_at_the_step_limit_is_no_reward() -> None:
    """Success needs the policy's own stop; the info keeps the verdict of ``wayword run``."""
    env = make("houses", settings=HOUSE, include=EXTRA_INFO)
    _, info = env.reset(episode=0)
    length = env.game.remaining("agent")
    assert length is not None
    env = make(
        "houses",
        dataset=env.dataset,
        include=EXTRA_INFO,
        max_steps=length - 1,
        reward="success",
    )
    _, info = env.reset(episode=env.tasks[0].episode.id)
    for _ in range(length - 1):
        _, reward, _, truncated, info = env.step(info["expert_action"])
    assert (truncated, info["success"], reward) == (True, True, 0.0)


def test_the_potential_keeps_returns_and_ends_at_zero() -> None:
    """Discounted by the trainer's gamma, the shaped part of any episode adds up to zero."""
    options: dict[str, Any] = {
        "discount": 0.9,
        "reward": {"potential": 1.0},
        "include": EXTRA_INFO,
    }
    env = make("houses", settings=HOUSE, max_steps=6, **options)
    for policy in ("expert", "stop", "sing", "goto"):
        _, info = env.reset(episode=0)
        total = info["distance"]
        before = 0.0
        terms = []
        over = False
        while not over:
            expert = info["expert_action"]
            legal = env.game.legal_actions(env.actor)
            words = {"expert": expert, "goto": legal[0]}.get(policy, policy)
            _, reward, ended, cut, info = env.step(words)
            over = ended or cut
            after = 0.0 if over else 1.0 - info["distance"] / total
            assert reward == pytest.approx(0.9 * after - before)
            before = after
            terms.append(reward)
        assert sum(0.9**n * term for n, term in enumerate(terms)) == pytest.approx(0.0)
    with pytest.raises(UsageError, match="discount must be between 0 and 1, got 2"):
        make("houses", discount=2.0)


def test_the_default_reward_guides_and_its_return_is_the_metric() -> None:
    env = make("houses", settings=HOUSE, include=EXTRA_INFO)
    for answers in ("expert", "stop"):
        _, info = env.reset(episode=0)
        rewards = []
        over = False
        while not over:
            command = info["expert_action"] if answers == "expert" else "stop"
            _, reward, ended, cut, info = env.step(command)
            rewards.append(reward)
            over = ended or cut
        assert sum(rewards) == pytest.approx(float(info["success"]))
    _, info = env.reset(episode=0)
    _, first, *_ = env.step(info["expert_action"])
    assert first > 0  # a step towards the goal is paid at once


def test_the_default_reward_asks_no_expert_and_takes_conditions_in_homes() -> None:
    env = make("household:generated_test", settings={"homes": 1, "episodes": 1})
    assert env.reward.weights == {"success": 1.0, "guide": 1.0}
    env.reset(episode=0)
    env.game.remaining = None  # type: ignore[assignment, method-assign]
    env.step("look")


@pytest.mark.parametrize("other", ["the same", "wait", "nonsense"])
def test_advice_continues_after_the_advised_turn_of_its_actor_alone(
    other: str,
) -> None:
    """Whatever another actor does, also the same: the plan is then made from where they are."""
    dataset = TwoInAFlat()
    game = TaskGame(dataset, dataset.tasks[0], 120)
    advice = []
    while (action := game.expert_action("ann")) is not None:
        advice.append(action)
        decision = {
            "the same": Decision(parsed(game, "ann", action)),
            "wait": Decision(Action("wait")),
            "nonsense": Rejection("unknown", "nonsense"),
        }[other]
        game.act("bob", decision)
        assert game.expert_action("ann") == game.clone().expert_action("ann")
        game.act("ann", Decision(parsed(game, "ann", str(game.expert_action("ann")))))
    assert advice[-1] == "stop"
    assert game.world.done("ann")


def parsed(game: TaskGame, actor: str, text: str) -> Action:
    action = legal.Legal(game.space(actor)).read(text)
    assert isinstance(action, Action), text
    return action


def test_a_callable_is_a_term_of_its_own_for_each_step_of_the_actor() -> None:
    seen = []

    def near(step: Step) -> float:
        seen.append(step)
        return float(step.feedback.status == "ok")

    env = make("houses", settings=HOUSE, reward=near, include=["expert_action"])
    _, info = env.reset(episode=0)
    _, reward, *_, info = env.step(info["expert_action"])
    assert (reward, info["reward_terms"]) == (1.0, {"custom": 1.0})
    _, reward, *_, info = env.step("sing")
    assert reward == 0.0
    assert seen == list(env.game.trajectory.steps)
    assert env.reward.shaped == ("custom",)
    # Next to other terms, under a name of its own.
    mixed = make("houses", settings=HOUSE, reward={"cost": 0.5, "near": near})
    mixed.reset(episode=0)
    _, reward, *_, info = mixed.step("sing")
    assert info["reward_terms"] == {"cost": -0.5, "near": 0.0}


def test_a_callable_of_two_gets_the_game_after_the_step() -> None:
    seen = []

    def near(step: Step, game: TaskGame) -> float:
        seen.append((game.task.episode.id, game.world.pose("agent") == step.pose))
        return 0.5

    env = make("houses", settings=HOUSE, reward={"near": near, "flat": lambda *_: 1})
    _, info = env.reset(episode=0)
    _, reward, *_, info = env.step("sing")
    assert (reward, seen) == (1.5, [(info["episode"], True)])
    for wrong in (lambda: 0, lambda a, b, c: 0):
        with pytest.raises(UsageError, match="takes a step, or a step and the game"):
            make("houses", settings=HOUSE, reward={"wrong": wrong})


def test_a_callable_must_return_a_number() -> None:
    env = make("houses", settings=HOUSE, reward=lambda step: "much")
    env.reset(episode=0)
    with pytest.raises(UsageError, match="custom must return a finite number"):
        env.step("sing")


@pytest.mark.parametrize("value", ["np.array([1.0])", "float('nan')", "'near'"])
def test_a_wrong_number_of_a_user_is_one_line_with_its_place(
    value: str, tmp_path: Path
) -> None:
    wrong = f"import numpy as np\n\n\ndef near(step):\n    return {value}\n"
    (tmp_path / "near.py").write_text(wrong)
    namespace: dict[str, Any] = {}
    exec(compile(wrong, str(tmp_path / "near.py"), "exec"), namespace)
    env = make("houses", settings=HOUSE, reward={"near": namespace["near"]})
    env.reset(episode=0)
    with pytest.raises(UsageError) as refused:
        env.step("sing")
    line = str(refused.value)
    assert line.startswith(f"{tmp_path}/near.py:4: reward: near must return a finite")
    assert "\n" not in line

    judge = "\n    def succeeded(self, task, trajectory):\n        return False\n"
    world = tmp_path / "keys.py"
    distance = f"\n    def distance(self, task, world):\n        return {value}\n"
    text = "import numpy as np\n" + KEYS
    world.write_text(text.replace("\n\ndataset =", f"{judge}{distance}\n\ndataset ="))
    with pytest.raises(CodeError) as broken:
        make(str(world), reward="progress").reset()
    line = str(broken.value)
    assert re.match(rf"{world}:\d+: distance must give a finite number as the", line)
    assert "\n" not in line


def test_the_page_says_what_each_name_of_a_reward_pays() -> None:
    page = (Path(__file__).parents[2] / "docs/environments.md").read_text()
    for name, weights in PRESETS.items():
        terms = " + ".join(f"{weight:g} × `{term}`" for term, weight in weights.items())
        assert f"\n| `{name}` | {terms} |\n" in page, name


def test_progress_that_cannot_be_measured_says_so(tmp_path: Path) -> None:
    """It would be 0 at every step, without a word."""
    world = tmp_path / "keys.py"
    world.write_text(KEYS)
    env = make(str(world), reward="progress")
    with pytest.warns(UserWarning, match="progress is always 0 here"):
        env.reset()


def test_a_judge_that_returns_none_at_the_end_is_named(tmp_path: Path) -> None:
    world = tmp_path / "keys.py"
    world.write_text(KEYS.replace("return bool(", "return None and bool("))
    env = make(str(world), reward="success")
    env.reset()
    with pytest.warns(UserWarning, match=r"keys\.py:\d+: .*succeeded returned None"):
        *_, info = env.step("stop")
    assert info["success"] is None


@pytest.mark.parametrize("reward", ["guided", "success", "conditions", "progress"])
@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("def succeeded", "def solved", "Escapes defines no succeeded"),
        ("return bool(", "bool(", "Escapes.succeeded returns nothing"),
    ],
)
def test_a_reward_that_nothing_judges_is_refused(
    tmp_path: Path, reward: str, old: str, new: str, problem: str
) -> None:
    """A policy would train on zeros for a night."""
    world = tmp_path / "keys.py"
    world.write_text(KEYS.replace(old, new))
    match = f"no success metric: {problem}.*a callable as the reward"
    with pytest.raises(UsageError, match=match):
        make(str(world), reward=reward)
    env = make(str(world), reward=lambda step: 1)
    env.reset()
    *_, info = env.step("stop")
    assert info["success"] is None


def test_without_a_reader_of_rewards_nothing_has_to_judge(tmp_path: Path) -> None:
    world = tmp_path / "keys.py"
    world.write_text(KEYS.replace("def succeeded", "def solved"))
    env = make(str(world), reward=None)
    env.reset()
    _, reward, *_, info = env.step("stop")
    assert (reward, info["reward_terms"]) == (0.0, {})
    assert isinstance(reward, float)
    with pytest.raises(UsageError, match="has no effect on the reward None"):
        make(str(world), reward=None, discount=0.9)
    # A server sends null, unless a reward was asked for.
    client = TestClient(OpenEnvServer(str(world)).app(), base_url="http://localhost")
    client.post("/reset", json={})
    reply = client.post("/step", json={"action": {"text": "stop"}}).json()
    assert (reply["reward"], reply["done"]) == (None, True)
    with pytest.raises(UsageError, match="no success metric"):
        OpenEnvServer(str(world), reward="success")


OWN = """

class Shaped(Escapes):
    def distance(self, task, world):
        return 1 - world.is_open


dataset = Shaped
"""


def test_an_own_world_gives_a_distance(tmp_path: Path) -> None:
    world = tmp_path / "shaped.py"
    world.write_text(KEYS + OWN)
    for reward in ("progress", "potential", "guided"):
        env = make(str(world), reward=reward, include=["distance"])
        _, info = env.reset()
        assert info["distance"] == 1.0
        _, paid, *_, info = env.step("open")
        assert (paid, info["distance"]) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"executor": ThreadPoolExecutor(1)}, "executor has no effect without new"),
        ({"curriculum": []}, "curriculum has no level; remove it"),
        ({"reward": "success", "discount": 0.9}, "no effect on the reward success,"),
        ({"datset": "houses"}, "no option 'datset'; did you mean 'dataset'"),
    ],
)
def test_options_without_effect_are_refused(
    options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(UsageError, match=problem):
        make("houses", settings=HOUSE, **options)


def test_an_environment_prints_what_it_holds() -> None:
    shown = repr(make("houses", settings=HOUSE, reward="cost"))
    assert shown.startswith("<Environment 'houses': ")
    assert shown.endswith("view='text', reward={success: 1, cost: 0.01}>")
