"""Every registered part holds to its contract; a new file in its folder is tested at once."""

from __future__ import annotations

import inspect
import pickle
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from helpers.sampling import LONG
from helpers.small_house import SmallHouse
from wayword.core import registry
from wayword.core.agent import Agent
from wayword.core.dataset import Dataset, DrawnTasks
from wayword.core.errors import DataError, UsageError
from wayword.core.world import World
from wayword.models.scripted import ScriptedModel
from wayword.runs.opening import open_dataset
from wayword.runs.plan import Plan
from wayword.testing.contracts import check_agent, check_dataset, check_world

AGENTS = registry.names("agent")
DATASETS = registry.names("dataset")
OWN = ("alfworld", "pasture", "procthor", "r4r", "robot", "rxr", "tour")
"""What a user brings, and what is not in the folder of published data: their own tests make some.
"""
NEED_FILES = {
    "map2seq": "--data",
    "r2r": "--data",
    "robothor": "--data",
    "touchdown": "--data",
}
NEED_FILES |= {"r4r": "--data", "reverie": "--data", "rxr": "--data"}
NEED_FILES |= {"pasture": "--data", "procthor": "--data"}
NEED_FILES |= {"alfworld": "make extra-alfworld"}
NEED_FILES |= {"robot": "dataset.target", "tour": "dataset.folder"}
"""Datasets that generate nothing, and what their refusal must name; all others must open."""


@cache
def generated(name: str) -> Dataset | None:
    """The dataset, opened once; None for one that needs files."""
    return None if name in NEED_FILES else open_dataset(plan(name))


def plan(on: str, data: Path | None = None) -> Plan:
    """A plan on a dataset or split, with few episodes where their number is a setting.

    Ids are compared with each other, and many datasets make every task to name its id.
    """
    cls = registry.load("dataset", on.partition(":")[0])
    names = {field.name for field in fields(cls.Settings)}
    settings = {}
    if "episodes" in names and not LONG:
        settings = {"dataset": {"episodes": 25}}
    return Plan("contract", on, settings=settings, data=data)


MOST = 200
"""Tasks of a split whose ids are compared where each task must be made to name its id."""


def few(dataset: Dataset) -> Dataset:
    """The dataset with its first tasks, made once, where making them is what takes the time."""
    tasks = dataset.tasks
    if not LONG and isinstance(tasks, DrawnTasks) and tasks.ids is None:
        vars(dataset)["tasks"] = tasks[:MOST]
    return dataset


@pytest.fixture
def _no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WAYWORD_DATA", raising=False)


@pytest.mark.usefixtures("_no_data")
@pytest.mark.parametrize("name", DATASETS)
def test_generated_datasets_and_their_worlds(name: str) -> None:
    dataset = generated(name)
    if dataset is None:
        with pytest.raises(UsageError) as text:
            list(open_dataset(Plan("contract", name)).tasks)  # reading is lazy
        assert "\n" not in str(text.value)
        assert NEED_FILES[name] in str(text.value), "says what to give it"
        return
    assert not dataset.files
    check_dataset(few(dataset), max_tasks=100 if LONG else 20)
    check_world(dataset)


@pytest.mark.real
@pytest.mark.parametrize("name", [name for name in DATASETS if name not in OWN])
def test_published_datasets_and_their_worlds(name: str, data: Path) -> None:
    cls = registry.load("dataset", name)
    there = [
        found for split in cls.splits if (found := _opened(f"{name}:{split}", data))
    ]
    assert there, f"no split of {name} is in the data folder"
    # Generated splits are tested without data, above.
    for dataset in [each for each in there if each.files]:
        check_dataset(few(dataset), max_tasks=30 if LONG else 8)
        check_world(dataset, episodes=2 if LONG else 1)


def _opened(on: str, data: Path) -> Dataset | None:
    """The split, None if its files are not in the data folder; a file there must be readable."""
    try:
        dataset = open_dataset(plan(on, data))
        return dataset if dataset.tasks else None
    except DataError as error:
        if "no such file" in str(error) or "contains no" in str(error):
            return None
        raise


@pytest.mark.usefixtures("_no_data")
@pytest.mark.parametrize("name", AGENTS)
def test_agents_play_the_worlds_they_name(name: str) -> None:
    agent: type[Agent] = registry.load("agent", name)
    played = 0
    for dataset in [SmallHouse(), *(generated(each) for each in DATASETS)]:
        if dataset is None or (
            agent.families and dataset.family.name not in agent.families
        ):
            continue
        model: Any = ScriptedModel("first") if agent.needs_model else None
        check_agent(agent, dataset, model)
        played += 1
    assert played, f"no generated world suits {name}"


@pytest.mark.usefixtures("_no_data")
@pytest.mark.parametrize("name", registry.names("world"))
def test_worlds_have_the_protocols_methods_and_are_played_above(name: str) -> None:
    world = registry.load("world", name)
    for method, expected in vars(World).items():
        if inspect.isfunction(expected) and not method.startswith("_"):
            own = inspect.signature(getattr(world, method)).parameters
            assert list(own) == list(inspect.signature(expected).parameters), (
                f"{name}.{method}"
            )
    # Without its engine it is played by its own tests, through the same contract.
    if name == "alfworld":
        return
    assert any(issubclass(each, world) for each in world_classes())


@cache
def world_classes() -> set[type[Any]]:
    """The classes of the worlds of all generated datasets."""
    opened = [dataset for each in DATASETS if (dataset := generated(each))]
    return {type(each.world(each.tasks[0].episode)) for each in opened}


@pytest.mark.parametrize("kind", registry.KINDS)
def test_an_unknown_name_is_answered_with_what_there_is(kind: registry.Kind) -> None:
    with pytest.raises(UsageError, match=f"no {kind} is called 'nonesuch'"):
        registry.load(kind, "nonesuch")


def test_a_near_miss_is_answered_with_the_name_meant() -> None:
    with pytest.raises(UsageError, match="did you mean 'navgpt'"):
        registry.load("agent", "navgtp")


def test_a_file_of_ones_own_is_a_part(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(
        "from wayword.agents.baselines.simple import RandomAgent\nagent = RandomAgent\n"
    )
    assert registry.load("agent", str(mine)).__name__ == "RandomAgent"
    mine.write_text("x = 1\n")
    with pytest.raises(UsageError, match="defines no 'agent'"):
        registry.load("agent", str(mine))


def test_a_module_names_several_agents_and_a_users_file_may_too(tmp_path: Path) -> None:
    assert registry.load("agent", "gold").__name__ == "GoldOracle"
    assert registry.load("agent", "oracle").__name__ == "ShortestPathOracle"
    assert not {"agents", "oracles", "simple", "strategy", "answers"} & set(
        registry.names("agent")
    )
    mine = tmp_path / "mine.py"
    mine.write_text("agents = {'other': int}\n")
    with pytest.raises(UsageError, match="defines no 'agent'"):
        registry.load("agent", str(mine))


def test_a_file_that_imports_what_is_not_there_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import nowhere_to_be_found\n")
    with pytest.raises(UsageError) as text:
        registry.load("agent", str(tmp_path / "mine.py"))
    assert str(text.value).startswith(
        f"{tmp_path / 'mine.py'}:1: No module named 'nowhere_to_be"
    )
    assert "PYTHONPATH" in str(text.value)


def write_agent(file: Path, families: str = "frozenset()") -> Path:
    """Write a file or module of an agent that plays these families."""
    file.parent.mkdir(exist_ok=True)
    base = "from wayword.agents.baselines.simple import RandomAgent\n"
    file.write_text(
        f"{base}class Mine(RandomAgent):\n    families = {families}\nagent = Mine\n"
    )
    return file


def test_a_users_file_is_loaded_again_only_if_it_has_changed(tmp_path: Path) -> None:
    """Classes are pickled by their module: a second module would hide the first one's."""
    folder = tmp_path / "package"
    written = write_agent(folder / "policy.py")
    (folder / "__init__.py").write_text("from .policy import agent\n")
    for name, changed in (
        (write_agent(tmp_path / "mine.py"), tmp_path / "mine.py"),
        (folder, written),
    ):
        first = registry.load("agent", str(name))
        assert registry.load("agent", str(name)) is first
        assert pickle.loads(pickle.dumps(first)) is first
        write_agent(changed, "frozenset({'indoor'})")
        second = registry.load("agent", str(name))
        assert second.families == {"indoor"}
        assert pickle.loads(pickle.dumps(second)) is second


def test_files_of_one_name_have_modules_of_their_own(tmp_path: Path) -> None:
    paths = [write_agent(tmp_path / side / "mine.py") for side in ("train", "eval")]
    classes = [registry.load("agent", str(path)) for path in paths]
    assert classes[0] is not classes[1]
    for each in classes:
        assert pickle.loads(pickle.dumps(each)) is each


def test_an_import_of_a_neighbor_says_how_to_make_a_package(tmp_path: Path) -> None:
    (tmp_path / "switch.py").write_text("x = 1\n")
    (tmp_path / "family.py").write_text("from switch import x\n")
    with pytest.raises(UsageError, match=r"folder with an __init__\.py.*from \.switch"):
        registry.load("agent", str(tmp_path / "family.py"))
