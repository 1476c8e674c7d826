"""ALFWorld's files, and problems of its domain from generated homes. Its engine is not needed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from helpers.textgames import Fridge
from wayword.core.errors import DataError, UsageError
from wayword.datasets import alfworld
from wayword.datasets.alfworld import Alfworld
from wayword.datasets.household import Household
from wayword.datasets.procedural.textgames import TextGame, text_game
from wayword.testing.contracts import check_dataset, check_world
from wayword.worlds.alfworld.world import GameReference
from wayword.worlds.household.builder import SceneBuilder
from wayword.worlds.household.goals import HouseholdReference, Inside
from wayword.worlds.household.world import HouseholdWorld

HEAT = "pick_heat_then_place_in_recep-Apple-None-Fridge-15/trial_1"
GAME = {
    "pddl_domain": "(define (domain alfred))",
    "grammar": 'grammar :: """ "rhs": "Your task is to: put a hot apple in fridge." """',
    "pddl_problem": "(define (problem home))",
    "solvable": True,
    "walkthrough": ["look"],
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as ``alfworld-download`` leaves it, with a package that counts as installed."""
    monkeypatch.setattr(alfworld, "check_installed", lambda: None)
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))
    # Versions of the packages are part of the data.
    monkeypatch.setattr(alfworld, "package_files", lambda name: tmp_path / name)
    for name in ("alfworld/info.py", "textworld/version.py"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("__version__ = '1'")
    # As many as these tests store: fewer than published are a caveat.
    monkeypatch.setattr(alfworld, "PUBLISHED", {"valid_unseen": 1}, raising=False)
    return tmp_path


def store(root: Path, name: str, **changes: object) -> Path:
    """Write a game of the split ``valid_unseen``."""
    path = root / "json_2.1.1/valid_unseen" / name / "game.tw-pddl"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({**GAME, **changes}))
    return path


def test_a_published_game_is_a_task(root: Path) -> None:
    store(root, HEAT)
    (task,) = Alfworld("valid_unseen").tasks
    assert task.episode.id == HEAT
    assert task.episode.instruction == "put a hot apple in fridge."
    assert task.reference == GameReference(HEAT, "pick_heat_then_place_in_recep")


def test_games_that_alfworlds_own_loop_leaves_out_are_no_tasks(root: Path) -> None:
    store(root, HEAT)
    store(root, HEAT.replace("trial_1", "trial_2"), solvable=False)
    store(root, "pick_and_place_with_movable_recep-Egg-Bowl-Fridge-1/trial_1")
    store(root, "pick_and_place_simple-AppleSliced-None-Fridge-1/trial_1")
    assert [task.episode.id for task in Alfworld("valid_unseen").tasks] == [HEAT]


def test_games_that_are_not_marked_are_left_out_with_a_caveat(root: Path) -> None:
    store(root, HEAT)
    store(root, HEAT.replace("trial_1", "trial_2"), solvable=False)
    assert len(Alfworld("valid_unseen").caveats) == 1
    unmarked = store(root, HEAT.replace("trial_1", "trial_3"))
    game = json.loads(unmarked.read_text())
    del game["solvable"]
    unmarked.write_text(json.dumps(game))
    dataset = Alfworld("valid_unseen")
    assert [task.episode.id for task in dataset.tasks] == [HEAT]
    assert "left out: 1 whose files lack 'solvable'" in dataset.caveats[1]


def test_trials_of_a_task_are_one_cluster(root: Path) -> None:
    store(root, HEAT)
    other = HEAT.replace("trial_1", "trial_2")
    assert Alfworld.clusters.of(HEAT) == Alfworld.clusters.of(other)


@pytest.mark.parametrize("text", ["no JSON", "[]", "{}", '{"pddl_domain": ""}'])
def test_a_file_that_is_no_game_is_named(root: Path, text: str) -> None:
    store(root, HEAT).write_text(text)
    with pytest.raises(DataError, match=r"game\.tw-pddl"):
        Alfworld("valid_unseen")


def test_a_game_without_a_task_in_its_grammar_is_named(root: Path) -> None:
    store(root, HEAT, grammar="UNKNOWN")
    with pytest.raises(DataError, match=r"game\.tw-pddl.*no task"):
        list(Alfworld("valid_unseen").tasks)


def test_a_split_without_games_says_where_they_were_looked_for(root: Path) -> None:
    with pytest.raises(UsageError, match=re.escape(str(root))):
        Alfworld("valid_seen")


def test_the_expert_follows_the_walkthrough_of_the_file(root: Path) -> None:
    # Versions before 0.4 wrote "put … in/on …" for "move … to …".
    commands = ["take apple 1 from table 1", "put apple 1 in/on fridge 1"]
    store(root, HEAT, walkthrough=commands)
    dataset = Alfworld("valid_unseen")
    (task,) = dataset.tasks
    world = dataset.world(task.episode)
    plan = dataset.plan(task, world, "agent", "expert")
    assert [str(next(plan)), str(next(plan))] == [
        "take[apple 1, table 1]",
        "move[apple 1, fridge 1]",
    ]


def test_a_game_keeps_the_contract_of_worlds(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alfworld, "Lease", Fridge)
    commands = ["go to fridge 1", "take apple 1 from fridge 1"]
    store(root, HEAT, walkthrough=commands)
    dataset = Alfworld("valid_unseen")
    check_dataset(dataset)
    check_world(dataset)


# Generated games: the engine reads them in a suite of its own.

PROBLEMS = 14
Drawn = list[tuple[HouseholdReference, TextGame | None]]


@pytest.fixture(scope="module")
def drawn() -> Drawn:
    """Household tasks and their games."""
    settings = Household.Settings(episodes=PROBLEMS, homes=2)
    household = Household("generated_test", settings=settings)
    written: Drawn = []
    for task in household.tasks:
        world = household.world(task.episode)
        assert isinstance(world, HouseholdWorld)
        assert isinstance(task.reference, HouseholdReference)
        world.reset(task.episode)
        game = text_game(world.scene, world.layout.room_at, task.reference)
        written.append((task.reference, game))
    return written


def test_a_problem_declares_what_its_goal_names(drawn: Drawn) -> None:
    games = [game for _, game in drawn if game]
    assert len(games) >= PROBLEMS / 2
    for game in games:
        text = game.problem
        assert text.count("(") == text.count(")")
        objects, goal = text.split("(:init")[0], text.split("(:goal")[1]
        names = set(re.findall(r"\w+_bar_\w+", goal))
        assert names
        assert all(f"\n{name} - " in objects for name in names)


@pytest.mark.parametrize(
    ("parts", "there", "moved"),
    [(1, 0, 1), (2, 0, 2), (2, 1, 1), (1, 1, 0), (1, 2, 0)],
)
def test_a_walkthrough_moves_as_many_objects_as_are_missing(
    parts: int, there: int, moved: int
) -> None:
    house = SceneBuilder("room")
    house.room("room", [(0, 0), (4, 0), (4, 5), (0, 5)])
    desk = house.furniture("desk", 2, 1, 1.0, 0.6, 0.8, receptacle="on")
    shelf = house.furniture("shelf", 2, 4, 1.0, 0.3, 0.8, receptacle="on")
    mugs = [house.item("mug", parent=desk if n < there else shelf) for n in range(4)]
    goal = Inside(tuple(mugs), (desk,), parts=parts)
    game = text_game(
        house.build(),
        lambda x, y: "room",
        HouseholdReference("e", goals=(goal,)),
    )
    assert game is not None
    verbs = [command.split()[0] for command in game.walkthrough]
    assert verbs.count("move") == moved


def test_a_trait_is_a_game_only_in_a_home_with_its_tool() -> None:
    for tools in (0, 1):
        house = SceneBuilder("room")
        house.room("room", [(0, 0), (4, 0), (4, 5), (0, 5)])
        desk = house.furniture("desk", 2, 1, 1.0, 0.6, 0.8, receptacle="on")
        mug = house.item("mug", parent=desk)
        for _ in range(tools):
            house.furniture("microwave", 2, 4, 0.5, 0.4, 0.3, receptacle="in")
        goal = Inside((mug,), (desk,), traits=(("temperature", "hot"),))
        game = text_game(
            house.build(),
            lambda x, y: "room",
            HouseholdReference("e", goals=(goal,)),
        )
        assert (game is not None) == bool(tools)


def test_a_walkthrough_brings_an_object_by_way_of_its_tool(drawn: Drawn) -> None:
    heat = next(
        game
        for reference, game in drawn
        if game and reference.kind == "pick_heat_then_place_in_recep"
    )
    verbs = [command.split()[0] for command in heat.walkthrough]
    assert [verb for verb in verbs if verb not in ("go", "open")] == [
        "take",
        "heat",
        "move",
    ]


def test_stacks_are_no_games(drawn: Drawn) -> None:
    stacks = [
        game
        for reference, game in drawn
        if reference.kind == "pick_and_place_with_movable_recep"
    ]
    assert stacks
    assert not any(stacks)
