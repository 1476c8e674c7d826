"""Environments of every family: the rules, the rewards, the infos, and states that come back."""

from __future__ import annotations

import importlib
import json
import pickle
import sys
from collections import Counter
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from functools import cache
from typing import Any

import numpy as np
import pytest

from wayword.core.blame import CodeError
from wayword.core.dataset import Dataset
from wayword.core.errors import UsageError
from wayword.core.world import SLIPPED
from wayword.envs import Environment, make
from wayword.envs.game import OPTIONAL_INFOS, Info
from wayword.metrics.scoring import score
from wayword.runs.opening import open_dataset
from wayword.runs.plan import Plan
from wayword.worlds.household.world import HouseholdWorld

SMALL: dict[str, dict[str, Any]] = {
    "houses": {"houses": 1, "episodes": 4},
    "towns": {"towns": 1, "episodes": 2},
    "household": {"homes": 1, "episodes": 2},
    "grounding": {"levels": ("GoToObj",), "episodes": 2},
    "apartments": {"homes": 1, "episodes": 2},
    "two_phase": {},
}
"""One dataset a family, small enough to open at once."""


@cache
def opened(name: str) -> Dataset:
    return make(name, settings=SMALL[name]).dataset


def small(name: str, **options: Any) -> Environment:
    options = {"include": ["expert_action", "admissible_commands"], **options}
    return make(name, dataset=opened(name), settings=SMALL[name], **options)


@pytest.fixture(scope="module")
def homes() -> Environment:
    return small("household")


def solved(env: Environment) -> tuple[list[str], float, Info]:
    """The expert's commands, the total reward, and the last info."""
    _, info = env.reset(episode=0)
    messages = []
    total = 0.0
    over = False
    while not over:
        messages.append(info["expert_action"])
        _, reward, ended, cut, info = env.step(messages[-1])
        total = total + reward
        over = ended or cut
    return messages, total, info


@pytest.mark.parametrize("name", SMALL)
def test_the_expert_is_paid_for_success_and_judged_as_runs_are(name: str) -> None:
    env = small(name, reward="conditions")
    actions, total, info = solved(env)
    assert info["success"] is True
    assert total == pytest.approx(1.0)
    (scores,) = score(env.dataset, [(env.game.task, env.trajectory())])
    assert scores[env.dataset.family.success] == 1.0
    assert env.dataset.solutions
    assert len(actions) == env.dataset.expert_length(env.game.task)


@pytest.mark.parametrize("name", ["household", "grounding", "towns"])
def test_the_expert_repeats_an_action_that_slipped(name: str) -> None:
    """Of failing actions, every second does nothing: the expert's plan still stands at it."""
    plan = Plan("random", name, settings={"perturb": {"failing": 0.5}})
    env = make(name, dataset=open_dataset(plan), episodes=2, include=["expert_action"])
    for _ in range(2):
        _, info = env.reset()
        slips = 0
        while (action := info["expert_action"]) is not None:
            before = env.game.remaining(env.actor)
            *_, info = env.step(action)
            step = env.game.trajectory.steps[-1]
            if step.feedback.status == SLIPPED and env.game.ended is None:
                slips += 1
                assert env.game.remaining(env.actor) == before
        assert slips
        assert info["success"] or env.game.ended == "step_limit"
        assert info["rejected"] is False


@pytest.mark.parametrize("name", SMALL)
def test_stopping_at_once_is_judged_as_runs_are(name: str) -> None:
    env = small(name)
    env.reset(episode=1)
    _, reward, ended, _, info = env.step("stop")
    (scores,) = score(env.dataset, [(env.game.task, env.trajectory())])
    assert ended
    assert reward == float(info["success"]) == scores[env.dataset.family.success]


@pytest.mark.parametrize("name", SMALL)
def test_a_clone_goes_its_own_way_and_the_same_answers_give_the_same_words(
    name: str,
) -> None:
    env = small(name)
    seen, info = env.reset(episode=0)
    first = info["expert_action"]
    after, _, _, _, info = env.step(first)
    second = info["admissible_commands"][0]
    texts = [seen, after]
    other = env.clone()
    left = other.step(second)[0]
    texts.append(env.step(second)[0])
    assert left == texts[-1]
    assert [env.reset(episode=0)[0], env.step(first)[0], env.step(second)[0]] == texts
    assert other.game is not env.game


@pytest.mark.parametrize("name", ["houses", "towns", "two_phase"])
def test_progress_adds_up_to_the_full_way(name: str) -> None:
    _, total, _ = solved(small(name, reward={"progress": 1.0}))
    assert total == pytest.approx(1.0)


def test_progress_in_homes_is_the_experts_remaining_length() -> None:
    env = small("household", reward={"progress": 1.0, "cost": 0.1}, episodes=1)
    _, info = env.reset()
    left = env.game.remaining("agent")
    assert left is not None
    _, reward, _, _, info = env.step(info["expert_action"])
    assert reward == pytest.approx(1 / left - 0.1)
    assert env.reward.shaped == ("progress", "cost")
    assert set(info["reward_terms"]) == {"progress", "cost"}


def test_what_is_no_action_costs_a_turn_and_says_why(homes: Environment) -> None:
    homes.reset(episode=0)
    before = homes.game.world.state()
    seen, _, _, _, info = homes.step("sing me a song")
    assert info["rejected"]
    assert info["rejection"] in seen
    assert info["steps"] == 1
    assert homes.game.world.state() == before


@pytest.mark.parametrize(
    "reply", ["turn_left", "Action: turn_left", '{"action": "turn_left"}', "Turn left."]
)
def test_answers_are_read_as_those_of_strategies(
    homes: Environment, reply: str
) -> None:
    homes.reset(episode=0)
    homes.step(reply)
    assert str(homes.game.trajectory.steps[0].decision.action) == "turn_left"  # type: ignore[union-attr]


def test_episodes_come_in_order_or_by_seed() -> None:
    env = small("two_phase")
    names = [env.reset()[1]["episode"] for _ in range(3)]
    assert names == [task.episode.id for task in env.tasks[:3]]
    drawn = [
        env.reset(seed=5)[1]["episode"],
        *(env.reset()[1]["episode"] for _ in range(5)),
    ]
    again = [
        env.reset(seed=5)[1]["episode"],
        *(env.reset()[1]["episode"] for _ in range(5)),
    ]
    assert drawn == again
    assert len(set(drawn)) > 1
    assert env.reset(episode=names[1])[1]["episode"] == names[1]
    with pytest.raises(UsageError, match="no episode 'nowhere'"):
        env.reset(episode="nowhere")


def test_an_info_stays_true_of_its_own_step(homes: Environment) -> None:
    _, info = homes.reset(episode=0)
    kept = homes.clone().reset(episode=0)[1]
    expected = kept["expert_action"], kept["admissible_commands"]
    for _ in range(3):
        homes.step("turn_left")
    assert (info["expert_action"], info["admissible_commands"]) == expected


def test_infos_hold_what_was_requested_and_nothing_else_is_planned(
    homes: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*given: object) -> None:
        raise AssertionError("planned")

    monkeypatch.setattr(type(homes.dataset), "plan", fail)
    _, info = make("household", dataset=homes.dataset).reset(episode=0)
    assert type(info) is dict
    assert not set(OPTIONAL_INFOS) & set(info)
    with pytest.raises(CodeError, match="AssertionError: planned"):
        make("household", dataset=homes.dataset, include=["expert_action"]).reset(
            episode=0
        )


@pytest.mark.parametrize("name", SMALL)
def test_an_info_with_everything_is_plain_json(name: str) -> None:
    env = small(name, include=OPTIONAL_INFOS)
    _, info = env.reset(episode=0)
    assert json.loads(json.dumps(info)) == info
    assert set(OPTIONAL_INFOS) <= set(info)
    rules = env.clone().step("stop")[4]["rules"]
    assert rules == info["rules"] == env.view.rules()


def test_the_limit_truncates_and_a_finished_episode_takes_no_step(
    homes: Environment,
) -> None:
    include = ["admissible_commands"]
    env = make("household", dataset=homes.dataset, max_steps=2, include=include)
    env.reset()
    env.step("turn_left")
    *_, ended, cut, info = env.step("turn_left")
    assert (ended, cut, info["success"]) == (False, True, False)
    assert info["admissible_commands"] == []
    with pytest.raises(UsageError, match="call reset"):
        env.step("turn_left")


def test_a_limit_of_no_steps_is_refused() -> None:
    with pytest.raises(UsageError, match="max_steps must be at least 1"):
        make("two_phase", max_steps=0)


@pytest.mark.parametrize("room", ["gymnasium", "pettingzoo", "verifiers"])
def test_a_missing_library_is_reported_with_what_installs_it(
    room: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, room, None)
    monkeypatch.delitem(sys.modules, f"wayword.envs.{room}", raising=False)
    with pytest.raises(ModuleNotFoundError, match=rf"extra-{room}"):
        importlib.import_module(f"wayword.envs.{room}")


def test_menus_take_numbers_and_refuse_those_beyond(homes: Environment) -> None:
    include = ["admissible_commands"]
    env = make("household", dataset=homes.dataset, actions="menu", include=include)
    seen, info = env.reset()
    assert f"1: {info['admissible_commands'][1]}" in seen
    env.step(1)
    assert env.game.trajectory.steps[0].decision.action.name == "turn_left"  # type: ignore[union-attr]
    assert "no number 999" in env.step(999)[4]["rejection"]


def test_structured_views_give_the_fields(homes: Environment) -> None:
    env = make("household", dataset=homes.dataset, view="structured")
    seen, _ = env.reset()
    assert seen["task"]
    assert seen["observation"]["room"]
    assert env.step("turn_left")[0]["feedback"]["status"] == "ok"


def test_saved_states_come_back_any_number_of_times(homes: Environment) -> None:
    env = make("household", dataset=homes.dataset)
    env.reset(episode=0)
    env.step("turn_left")
    saved = env.clone()
    after = [env.step("turn_left")[0], env.step("move_ahead")[0]]
    for _ in range(2):
        env.restore(saved)
        assert [env.step("turn_left")[0], env.step("move_ahead")[0]] == after


def test_others_play_along_by_an_agent() -> None:
    options: dict[str, Any] = {
        "settings": {"homes": 1, "episodes": 1, "task": "Coffee"}
    }
    env = make("ma_household", actor="follower", max_steps=40, **options)
    _, info = env.reset()
    assert info["actor"] == "follower"
    env.step("turn_left")
    order = [step.actor for step in env.game.trajectory.steps]
    assert order[:3] == ["commander", "follower", "commander"]
    clone = env.clone()
    assert clone.step("turn_left")[0] == env.step("turn_left")[0]
    with pytest.raises(UsageError, match="others=react: needs a model; use an agent"):
        make("ma_household", actor="follower", others="react", **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reward": "sucess"}, "did you mean 'success'"),
        ({"reward": {"speed": 1}}, "no reward term"),
        ({"reward": {"success": "1e"}}, "weight of success must be a number, got '1e'"),
        (
            {"reward": {"cost": float("nan")}},
            "weight of cost must be a number, got nan",
        ),
        ({"episodes": -1}, "no episode to play"),
        ({"actions": "buttons"}, "actions must be 'text' or 'menu', got 'buttons'"),
        ({"vieuw": "text"}, "did you mean 'view'"),
        (
            {"include": ["expert"]},
            "include: unknown field 'expert'; did you mean 'expert_action'",
        ),
        ({"episodes": ["nowhere"]}, "no episode 'nowhere'"),
        ({"max_steps": -1}, "max_steps must be at least 1"),
        ({"reward": {}}, "reward needs a term, such as"),
        ({"curriculum": {"rooms": 5}}, "curriculum must be a list, got {'rooms': 5}"),
    ],
)
def test_wrong_options_end_in_one_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        small("houses", **options).reset()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"view": "rgb"}, "view must be text, structured, or the name of an agent"),
        ({"view_settings": {"a": 1}}, "view=text takes no settings"),
        ({"others": "tam"}, "no agent is called 'tam'; did you mean 'team'"),
        ({"others": "react"}, "others=react: needs a model"),
        ({"actor": "bob"}, "no actor is called 'bob'; there are: agent"),
        ({"view": "lgx"}, "view=lgx acts in objectnav, "),
        ({"view": "oracle"}, "calls no model"),
        ({"seed": 1}, r"seed=1 is for agents.*write env\.reset\(seed=1\)"),
        ({"seed": 0}, r"write env\.reset\(seed=0\)"),
    ],
)
def test_wrong_names_are_errors_before_the_first_reset(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        small("houses", **options)


def test_a_seed_is_taken_where_agents_draw() -> None:
    assert make("ma_household", seed=1).options.seed == 1
    assert small("houses", view="walker", seed=1).options.seed == 1


def test_an_environment_is_not_restored_to_another_one() -> None:
    env = small("houses")
    env.reset(seed=0)
    other = make("towns")
    other.reset(seed=0)
    with pytest.raises(
        UsageError, match=r"a clone of this environment, .*houses.*towns"
    ):
        env.restore(other.clone())
    env.restore(pickle.loads(pickle.dumps(env)))
    assert env.options.name == "houses"


@pytest.mark.parametrize("saved", [None, "clone", ("observation", {})])
def test_only_a_clone_is_restored(saved: Any) -> None:
    env = small("houses")
    env.reset(seed=0)
    with pytest.raises(UsageError, match=r"restore takes a clone of env\.clone\(\)"):
        env.restore(saved)
    assert env.step("stop")[2], "the episode goes on"


@pytest.mark.parametrize(
    "wrong",
    [{"seed": "a"}, {"seed": 1.5}, {"seed": -1}, {"episode": 5.5}, {"episode": [1]}],
)
def test_what_is_no_seed_and_no_episode_is_stated(wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(UsageError, match=f"{name} must be .*, got "):
        small("two_phase").reset(**wrong)


def test_numpy_numbers_are_seeds_and_episodes() -> None:
    env = small("two_phase")
    drawn = [env.reset(seed=seed)[1]["episode"] for seed in (3, np.int64(3))]
    assert drawn[0] == drawn[1]
    assert env.reset(episode=np.int64(2))[1]["episode"] == env.tasks[2].episode.id


@pytest.mark.parametrize(
    "name", [*SMALL, "rearrangement", "iqa", "ma_household", "ma_wah"]
)
def test_new_scenes_come_without_end_and_again_by_seed(name: str) -> None:
    settings = SMALL.get(name, {"homes": 1, "episodes": 2})
    env = make(name, settings=settings, new_scenes=True, max_steps=3)
    runs = [[env.reset(seed=5), *(env.reset() for _ in range(2))] for _ in range(2)]
    ids = [info["episode"] for _, info in runs[0]]
    assert runs[0] == runs[1]
    assert len(set(ids)) == 3
    if name != "two_phase":  # one table of questions, in orders without end
        assert not {*ids} & {task.episode.id for task in env.tasks}
    clone = env.clone()
    assert clone.step("sing")[0] == env.step("sing")[0]


def test_options_of_a_reset_set_the_difficulty_of_a_new_scene() -> None:
    env = make("houses:train", settings=SMALL["houses"], include=["expert_action"])
    for length in (4, 12):
        _, info = env.reset(seed=1, options={"rooms": 6, "length": length})
        assert info["episode"].startswith("train-")
        assert "-r6-" in info["episode"]
        assert env.game.dataset.expert_length(env.game.task) == length
        assert env.game.max_steps == env.game.dataset.max_steps == 3 * length
    assert (
        env.reset(seed=1, options={"episode": 2})[1]["episode"]
        == env.tasks[2].episode.id
    )


def test_a_curriculum_raises_the_level_by_success() -> None:
    levels = [{"rooms": 5, "length": 2}, {"rooms": 6, "length": 4}]
    env = make("houses", curriculum=levels, include=["expert_action"])
    lengths = []
    for number in range(30):
        _, info = env.reset(seed=number)
        moves = 0
        over = False
        fails = number % 5 == 0
        while not over:
            command = "stop" if fails else info["expert_action"]
            _, _, terminated, truncated, info = env.step(command)
            moves = moves + 1
            over = terminated or truncated
        assert info["success"] is not fails
        if not fails:
            lengths.append((env.level, moves))
    risen = [level for level, _ in lengths].index(1)
    assert risen == 15  # the sixteenth success within twenty episodes
    assert {moves for _, moves in lengths[: risen + 1]} == {2}
    assert {moves for _, moves in lengths[risen + 1 :]} == {4}
    assert env.level == 1  # the last level stays
    copied = env.clone()
    copied._recent.clear()
    assert env._recent


@pytest.mark.parametrize("failures", [0, 4])
def test_successes_of_an_easier_level_do_not_count(failures: int) -> None:
    """Sixteen of its own last twenty episodes: none of an easier level."""
    level = {"rooms": 5, "length": 2}
    env = make("houses", curriculum=[level] * 3, include=["expert_action"])
    levels = []
    for number in range(2 * (16 + failures)):
        _, info = env.reset(seed=number)
        fails = number % (16 + failures) < failures
        over = False
        while not over:
            command = "stop" if fails else info["expert_action"]
            _, _, terminated, truncated, info = env.step(command)
            over = terminated or truncated
        levels.append(env.level)
    each = 16 + failures
    assert levels == [0] * (each - 1) + [1] * each + [2]


def test_a_clone_by_replay_counts_no_episode_again() -> None:
    settings = {"homes": 1, "episodes": 1}
    env = make(
        "ma_household:generated_test",
        settings=settings,
        curriculum=[{}, {}],
        max_steps=2,
    )
    env.reset(seed=0)
    over = False
    while not over:
        _, _, terminated, truncated, _ = env.step("stop")
        over = terminated or truncated
    copied = env.clone().clone()
    assert (len(env._recent), len(copied._recent), copied.level) == (1, 1, 0)


def test_a_wrong_level_of_a_curriculum_is_refused_before_the_first_episode() -> None:
    with pytest.raises(UsageError, match="rooms"):
        make("houses", curriculum=[{"rooms": 5}, {"romes": 9}])
    with pytest.raises(UsageError, match="'seed' is drawn for each new scene"):
        make("houses", curriculum=[{"seed": 5}])
    with pytest.raises(UsageError, match="rooms must be at least 5, got 4"):
        make("houses", curriculum=[{"rooms": 5}, {"rooms": 4}])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"room": 5}, "houses has no setting 'room'; did you mean 'rooms'"),
        ({"rooms": 99}, "rooms must be at most 17, got 99"),
        ({"seed": 1}, "'seed' is drawn for each new scene"),
        ({"episode": 0, "rooms": 5}, "need a new scene; remove the episode"),
    ],
)
def test_wrong_options_of_a_reset_are_refused(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        small("houses").reset(seed=0, options=options)


@pytest.mark.parametrize("name", SMALL)
def test_an_open_dataset_is_pickled_by_what_opens_it_again(name: str) -> None:
    dataset = opened(name)
    other = pickle.loads(pickle.dumps(dataset))
    assert list(other.tasks) == list(dataset.tasks)
    assert (other.split, other.settings) == (dataset.split, dataset.settings)
    bare = type(dataset).__mro__[1](settings=dataset.settings)
    assert list(pickle.loads(pickle.dumps(bare)).tasks) == list(dataset.tasks)


def test_nothing_is_played_before_a_reset() -> None:
    with pytest.raises(UsageError, match=r"call reset\(\)"):
        small("two_phase").step("stop")


class Late(Executor):
    """Carries out each call when its result is asked for, as a process does: on pickled copies."""

    def __init__(self) -> None:
        self.calls: list[Future[Any]] = []
        self.used = 0

    def submit(self, call: Any, /, *args: Any, **named: Any) -> Future[Any]:
        sent = pickle.dumps((call, args))
        future = Future[Any]()

        def result(timeout: float | None = None) -> Any:
            self.used += 1
            call, args = pickle.loads(sent)
            return pickle.loads(pickle.dumps(call(*args)))

        future.result = result  # type: ignore[method-assign]
        self.calls.append(future)
        return future


def walk(env: Environment, resets: list[dict[str, Any]]) -> list[Any]:
    """Observations and infos of resets, and of two steps after each."""
    shown: list[Any] = []
    for each in resets:
        shown.append(env.reset(**each))
        shown += [env.step(answer) for answer in ("sing", "stop")]
    return shown


@pytest.mark.parametrize(
    "name", [*SMALL, "rearrangement", "iqa", "ma_household", "ma_wah"]
)
def test_scenes_made_ahead_are_the_scenes_that_come_without_it(name: str) -> None:
    options: dict[str, Any] = {
        "new_scenes": True,
        "max_steps": 3,
        "settings": SMALL.get(name, {"homes": 1, "episodes": 2}),
    }
    resets: list[dict[str, Any]] = [
        {"seed": 5},
        {},
        {},
        {"seed": 6},
        {},
        {"episode": 0},
        {},
    ]
    ahead = Late()
    assert walk(make(name, executor=ahead, **options), resets) == walk(
        make(name, **options), resets
    )
    assert (ahead.used, len(ahead.calls)) == (4, 6)
    assert [call.cancelled() for call in ahead.calls] == [
        False,
        False,
        True,
        False,
        False,
        False,
    ]


def test_options_and_levels_are_no_others_with_scenes_made_ahead() -> None:
    levels = [{"rooms": 5, "length": 2}, {"rooms": 6, "length": 4}]
    ahead = Late()
    shown = []
    for executor in (ahead, None):
        env = make("houses:train", curriculum=levels, executor=executor)
        shown.append(walk(env, [{"seed": 1}, {}, {"options": {"rooms": 7}}, {}]))
        env.level = 1
        shown[-1] += walk(env, [{}, {}])
    assert shown[0] == shown[1]
    assert ahead.used == 2  # the second reset of each level


def test_copies_order_scenes_of_their_own_and_a_closed_environment_cancels() -> None:
    ahead = Late()
    env = make("houses:train", new_scenes=True, executor=ahead)
    env.reset(seed=3)
    copied = env.clone()
    assert copied.reset() == env.reset()
    assert copied.game is not env.game
    assert ahead.used == 1
    env.close()
    assert ahead.calls[-1].cancelled()
    env.restore(copied)
    assert env.reset()[1]["episode"] == copied.reset()[1]["episode"]


def test_a_process_makes_scenes_ahead() -> None:
    plain = make("houses:train", new_scenes=True)
    with ProcessPoolExecutor(1) as workers:
        env = make("houses:train", new_scenes=True, executor=workers)
        assert walk(env, [{"seed": 2}, {}, {}]) == walk(plain, [{"seed": 2}, {}, {}])
        env.close()
        with pytest.raises(
            UsageError, match="executor must be an instance of Executor, got 'two'"
        ):
            make("houses:train", new_scenes=True, executor="two")


def test_a_closed_environment_takes_no_step_until_its_next_reset() -> None:
    env = make("houses", settings={"houses": 1, "episodes": 4})
    env.reset()
    env.close()
    with pytest.raises(UsageError, match=r"the environment is closed; call reset\(\)"):
        env.step("stop")
    env.reset()
    env.step("stop")


@pytest.mark.parametrize("actions", ["text", "menu"])
@pytest.mark.parametrize("wrong", [None, ["stop"], 1.5, True, b"stop"])
def test_an_action_of_another_type_is_an_error_and_costs_no_turn(
    actions: str, wrong: Any
) -> None:
    env = small("houses", actions=actions)
    env.reset(seed=0)
    with pytest.raises(UsageError, match="an action must be a text") as raised:
        env.step(wrong)
    assert env.game.taken == {"agent": 0}
    assert len(raised.traceback) == 2, "the caller's frame and the door's"


def test_a_number_is_an_action_of_a_menu_alone() -> None:
    env = small("houses")
    env.reset(seed=0)
    with pytest.raises(UsageError, match=r"numbers need actions='menu'\), got 0"):
        env.step(0)
    env = small("houses", actions="menu")
    env.reset(seed=0)
    assert not env.step(np.int64(0))[4]["rejected"]


def test_a_dataset_is_named_first() -> None:
    with pytest.raises(UsageError, match=r"takes a dataset's name first.*got 'houses'"):
        make(dataset="houses")  # type: ignore[arg-type]


def test_a_step_asks_its_world_no_more_than_it_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whether its actor is done, before the turn, for the menu and for the end; the menu, once."""
    env = make("household", settings={"homes": 1, "episodes": 1, "rooms": 1})
    env.reset(episode=0)
    calls: Counter[str] = Counter()
    for name in ("done", "action_space"):
        method = getattr(HouseholdWorld, name)

        def count(
            world: Any, actor: str, name: str = name, method: Any = method
        ) -> Any:
            calls[name] += 1
            return method(world, actor)

        monkeypatch.setattr(HouseholdWorld, name, count)
    env.step("turn_left")
    assert calls == {"done": 3, "action_space": 1}
