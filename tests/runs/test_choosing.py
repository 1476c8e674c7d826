"""Which episodes are played: shuffle, shard and limit together."""

from __future__ import annotations

import shutil
from dataclasses import replace
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from helpers.run_folders import episodes, played
from wayword.core.dataset import DrawnTasks, Reference, Task, of_ids, task_id
from wayword.core.episode import Episode
from wayword.core.errors import UsageError
from wayword.runs import Plan, RunFolder, run
from wayword.runs.config import CALLS
from wayword.runs.identity import run_folder
from wayword.runs.opening import open_dataset
from wayword.runs.selection import at_level, choose, unfinished

pytestmark = pytest.mark.usefixtures("shared_data")

COUNT = 24
TREE = {"steps": 1, "dataset": {"houses": 2, "episodes": COUNT}}


@pytest.fixture
def chosen(tmp_path: Path) -> Any:
    """Play one episode after the other in a new folder, and give their ids."""
    number = iter(range(1000))

    def play(**options: Any) -> list[str]:
        out = tmp_path / str(next(number))
        return played(
            Plan("random", "houses", "", TREE, concurrency=1, out=out, **options)
        )

    return play


@pytest.fixture
def every(chosen: Any) -> list[str]:
    """All of the split, in the dataset's order."""
    found: list[str] = chosen()
    assert len(set(found)) == len(found) == COUNT
    return found


def test_a_limit_draws_a_random_sample_and_first_takes_the_beginning(
    chosen: Any, every: list[str]
) -> None:
    assert chosen(limit=5) == chosen(shuffle=0)[:5] != every[:5]
    assert sorted(chosen(limit=COUNT + 9)) == sorted(every)
    assert chosen(limit=5, first=True) == every[:5]
    with pytest.raises(UsageError, match="--first"):
        chosen(limit=5, first=True, shuffle=1)


def test_a_shuffle_is_a_fixed_order_of_the_full_split(
    chosen: Any, every: list[str]
) -> None:
    one = chosen(shuffle=1)
    zero = chosen(shuffle=0)
    other = chosen(shuffle=2)
    assert sorted(one) == sorted(zero) == sorted(other) == sorted(every)
    assert len({tuple(order) for order in (every, one, zero, other)}) == 4
    assert chosen(shuffle=1) == one


def test_a_limit_takes_the_first_episodes_of_the_shuffled_order(
    chosen: Any, every: list[str]
) -> None:
    order = chosen(shuffle=1)
    assert chosen(shuffle=1, limit=5) == order[:5]
    assert set(order[:5]) - set(every[:5]), (
        "a sample of the whole split, not its beginning"
    )


def test_shards_share_the_split_out_evenly(chosen: Any, every: list[str]) -> None:
    full: dict[str, Any]
    for options in ({"first": True}, {"shuffle": 3}, {}):
        full = options or {"shuffle": 0}  # with or without a limit
        order = chosen(**full)
        parts = [chosen(shard=f"{part}/5", **options) for part in range(1, 6)]
        assert sorted(chain.from_iterable(parts)) == sorted(every)
        assert [len(part) for part in parts] == [5, 5, 5, 5, 4]
        for part in parts:
            assert part == sorted(part, key=order.index), "in the order of the whole"


def test_a_limit_counts_the_episodes_of_a_shard(chosen: Any) -> None:
    for part in ("1/3", "3/3"):
        shard = chosen(shuffle=4, shard=part)
        assert chosen(shuffle=4, shard=part, limit=3) == shard[:3]


def test_a_higher_limit_resumes_the_same_order(chosen: Any, tmp_path: Path) -> None:
    order = chosen(shuffle=5)
    out = tmp_path / "grows"
    for limit in (4, 7):
        plan = Plan(
            "random", "houses", "", TREE, limit=limit, shuffle=5, concurrency=1, out=out
        )
        assert run(plan).outcome.finished == (4 if limit == 4 else 3)
        assert episodes(out) == order[:limit]


def test_a_lower_limit_than_the_folder_holds_is_a_notice(tmp_path: Path) -> None:
    notices = {}
    for limit in (4, 2, 4):
        plan = Plan("random", "houses", "", TREE, limit=limit, out=tmp_path / "run")
        notices[limit] = [line for line in run(plan).notices if "the limit" in line]
    start = "the folder has 4 finished episodes, more than the limit of 2:"
    assert [line.startswith(start) for line in notices[2]] == [True]
    assert not notices[4]


@pytest.mark.parametrize("recorded", [{}, {"shuffle": 5}, {"limit": 4}], ids=str)
def test_a_run_without_a_stated_order_resumes_that_of_its_record(
    chosen: Any, tmp_path: Path, recorded: dict[str, Any]
) -> None:
    out = tmp_path / "grows"
    order = chosen(shuffle=recorded.get("shuffle", 0))
    if not recorded:  # as recorded by versions whose limit was a prefix
        order = chosen()
        recorded = {"first": True}
    plan = Plan("random", "houses", "", TREE, limit=4, concurrency=1, out=out)
    run(replace(plan, **recorded))
    run(replace(plan, limit=7))
    assert episodes(out) == order[:7]
    run(replace(plan, limit=None))
    assert episodes(out) == order
    assert RunFolder.read(out).config["identity"]["shuffle"] == (
        None if "first" in recorded else recorded.get("shuffle", 0)
    )


def test_a_run_without_results_states_no_order(tmp_path: Path) -> None:
    plan = Plan("random", "houses", "", TREE, concurrency=1, out=tmp_path / "run")
    other = Plan("random", "houses", "", TREE, concurrency=1, out=tmp_path / "other")
    run(replace(other, shuffle=3, limit=1))
    (tmp_path / "run").mkdir()
    shutil.copy(tmp_path / "other" / "run.json", tmp_path / "run")
    run(replace(plan, limit=3))
    assert RunFolder.read(tmp_path / "run").config["identity"]["shuffle"] == 0


def test_a_run_that_paid_keeps_its_order_without_an_episode(tmp_path: Path) -> None:
    plan = Plan("random", "houses", "", TREE, concurrency=1, out=tmp_path / "run")
    other = Plan("random", "houses", "", TREE, concurrency=1, out=tmp_path / "other")
    run(replace(other, shuffle=3, limit=1))
    (tmp_path / "run").mkdir()
    shutil.copy(tmp_path / "other" / "run.json", tmp_path / "run")
    (tmp_path / "run" / CALLS).write_text('{"tokens":1,"dollars":0.5}\n')
    run(replace(plan, limit=1))
    assert episodes(tmp_path / "run") == episodes(tmp_path / "other")


def test_the_default_folder_is_the_same_with_and_without_a_limit() -> None:
    identity = {"agent": "random", "shuffle": 0}
    plan = Plan("random", "houses")
    folder = run_folder(plan, {**identity, "shuffle": None})
    assert run_folder(replace(plan, limit=3), identity) == folder
    assert run_folder(replace(plan, limit=3, shuffle=0), identity) != folder
    assert run_folder(replace(plan, limit=3, first=True), identity) != folder


def test_named_episodes_are_played_in_the_order_named(
    chosen: Any, every: list[str]
) -> None:
    names = (every[7], every[2], every[7])
    assert chosen(episodes=names) == [every[7], every[2]]
    assert chosen(episode=every[3]) == [every[3]]
    assert chosen(episode="4") == [every[3]]
    assert chosen(episode="2", shuffle=1) == [chosen(shuffle=1)[1]]
    for option in (
        {"shuffle": 0},
        {"shard": "1/2"},
        {"limit": 1},
        {"first": True},
        {"episode": every[0]},
    ):
        with pytest.raises(UsageError, match="--episodes"):
            chosen(episodes=names, **option)


def test_an_episode_is_named_by_its_id_its_number_or_as_the_next() -> None:
    """Numbers count from 1 in the order of the plan, whose limit and shard hold."""
    plan = Plan("random", "houses", "", TREE, shuffle=3, shard="2/2", limit=4)
    tasks = open_dataset(plan).tasks
    numbers = choose(plan, tasks)
    ids = [tasks[number].episode.id for number in numbers]

    def chosen_by(name: str, *finished: str) -> list[int]:
        return list(choose(replace(plan, episode=name), tasks, finished))

    assert [chosen_by(name) for name in ids] == [[number] for number in numbers]
    assert [chosen_by(f"{n}") for n in (1, 2, 4)] == [[numbers[n]] for n in (0, 1, 3)]
    assert chosen_by("next") == [numbers[0]]
    assert chosen_by("next", ids[0], ids[1]) == [numbers[2]]
    with pytest.raises(UsageError, match="all 4 episodes are finished"):
        chosen_by("next", *ids)
    others = {task_id(tasks, number) for number in range(len(tasks))} - {*ids}
    for name in ("0", "5", "-1", min(others)):
        with pytest.raises(UsageError, match=f"has no episode '{name}'"):
            chosen_by(name)


def test_the_episodes_of_a_scene_are_played_one_after_the_other() -> None:
    """Scenes in the order of their first episode that is left, and each in the chosen order."""
    scenes = ["c", "b", "a", "b", "c", "a"]
    tasks = DrawnTasks(len(scenes), lambda number: None, str, scenes.__getitem__)
    assert unfinished(tasks, range(6), {"0"}) == [1, 3, 2, 5, 4]
    assert unfinished(tasks, [5, 4, 3, 2], ()) == [5, 2, 4, 3]
    in_memory = DrawnTasks(len(scenes), lambda number: None, str)
    assert unfinished(in_memory, [5, 4, 3, 2], {"4"}) == [5, 3, 2]


def test_a_person_gets_longer_episodes_after_successes(tmp_path: Path) -> None:
    settings = {"dataset": TREE["dataset"]}
    plan = Plan("oracle", "houses", "", settings, episode="level", out=tmp_path / "run")
    for _ in range(4):
        run(plan)
    lengths = [
        len(record.trajectory.steps)
        for record in RunFolder.read(plan.out or "").records()
    ]
    easiest, second, third, _ = lengths
    assert easiest < second < third
    assert easiest == 4, "the shortest of this split"


def test_a_person_gets_no_longer_episode_after_a_failure(tmp_path: Path) -> None:
    settings = {"dataset": TREE["dataset"]}
    plan = Plan(
        "random",
        "houses",
        "",
        settings,
        max_steps=1,
        episode="level",
        out=tmp_path / "run",
    )
    for _ in range(2):
        run(plan)
    dataset = open_dataset(plan)
    ids = [record.episode_id for record in RunFolder.read(plan.out or "").records()]
    tasks = of_ids(dataset.tasks, set(ids))
    assert [dataset.expert_length(tasks[name]) for name in ids] == [4, 4]


def dataset_of(lengths: dict[str, int]) -> Any:
    """A dataset of episodes by the number of the expert's actions."""
    tasks = [Task(Episode(name, "go", "", {}), Reference(name)) for name in lengths]
    return SimpleNamespace(
        tasks=tasks, solutions=True, expert_length=lambda task: lengths[task.episode.id]
    )


@pytest.mark.parametrize(
    ("scores", "length"),
    [
        ({"steps": 4.0}, 6),
        ({"steps": 5.0}, 6),
        ({"steps": 5.1}, 5),
        ({"steps": 9.0}, 5),
        ({"steps": 9.0, "low_level": 5.0}, 6),
        ({"steps": 4.0, "low_level": 6.0}, 5),
        ({"steps": 9.0, "success": 0.0}, 3),
        ({"steps": 4.0, "success": 0.5}, 3),
    ],
)
def test_a_fast_success_skips_a_level(scores: dict[str, float], length: int) -> None:
    lengths = dict(zip(map(str, range(1, 13)), range(1, 13), strict=True))
    dataset = dataset_of(lengths)
    folder: Any = SimpleNamespace(
        index=("4",), scores=lambda: [("4", {"success": 1.0} | scores)]
    )
    assert lengths[at_level(dataset, folder, "success")] == length


def test_the_first_episode_is_no_trifle() -> None:
    lengths = dict(zip("abcdefgh", (1, 1, 2, 3, 3, 12, 17, 57), strict=True))
    dataset = dataset_of(lengths)
    folder: Any = SimpleNamespace(index=(), scores=list)
    assert at_level(dataset, folder, "success") == "f", "half the mean of 12 or more"


@pytest.mark.parametrize(("last", "following"), [(1, 4), (2, 4), (3, 5), (8, 10)])
def test_a_success_never_leads_below_the_first_level(last: int, following: int) -> None:
    """Half the mean of what is left is 3.5 or a little less; a fast success adds two or more."""
    lengths = {str(n): n for n in range(1, 13)}
    dataset = dataset_of(lengths)
    scores = {"success": 1.0, "steps": float(last)}
    folder: Any = SimpleNamespace(
        index=(str(last),), scores=lambda: [(str(last), scores)]
    )
    assert lengths[at_level(dataset, folder, "success")] == following
