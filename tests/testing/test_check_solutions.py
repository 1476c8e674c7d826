"""The contract of a dataset: its own solutions reach the goals of its episodes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from helpers.docs_pages import PAGES, ROOT, Block, blocks, name
from helpers.line_world import WORLD
from wayword.core import registry
from wayword.core.blame import CodeError
from wayword.core.errors import UsageError
from wayword.runs import Plan, RunResult, run
from wayword.runs.export import Export, export
from wayword.testing import check_dataset, check_world


def corridor(folder: Path, *changes: tuple[str, str]) -> Path:
    """The documentation's dataset of a corridor as a file, with changes."""
    page = (ROOT / "docs" / "adding.md").read_text(encoding="utf-8")
    [text] = re.findall(r'```python title="corridor.py"\n(.*?)```', page, re.DOTALL)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    file = folder / "corridor.py"
    file.write_text(text, encoding="utf-8")
    return file


def check(file: Path) -> None:
    check_dataset(registry.load("dataset", str(file))("all", None, None))


def test_solutions_that_reach_the_goal_pass(tmp_path: Path) -> None:
    check(corridor(tmp_path))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            ("max_steps = 10", "max_steps = 2"),
            "the solution 'gold' does not reach the goal: sr is 0 after 2 of at most 2 steps",
        ),
        (
            ('"walk_0", PLACES)', '"walk_0", ("a", "c", "e"))'),
            "the path has 'a' and 'c', which are not adjacent",
        ),
        (
            ('"walk_0", PLACES)', '"walk_0", PLACES, shortest=90.0)'),
            "shortest is 90 m, but from 'a' to 'e' the graph has ",
        ),
        (
            ('"walk_0", PLACES)', '"walk_0", PLACES, shortest=0.1)'),
            "shortest is 0.1 m, but from 'a' to 'e' the graph has ",
        ),
    ],
)
def test_a_solution_that_does_not_reach_the_goal_is_named(
    change: tuple[str, str], problem: str, tmp_path: Path
) -> None:
    file = corridor(tmp_path, change)
    where = rf"{re.escape(str(file))}:\d+: episode 'walk_0': {problem}"
    with pytest.raises(AssertionError, match=where):
        check(file)


ENDLESS = """
    solutions = ("expert",)
    max_steps = 4

    def make_plan(self, task, world, actor, kind):
        while True:
            yield Action("right")

    def succeeded(self, task, trajectory):
        return trajectory.state["place"] > 0
"""


def test_a_plan_without_an_end_is_cut_and_named(tmp_path: Path) -> None:
    file = tmp_path / "line.py"
    file.write_text(WORLD.replace("\n\ndataset =", f"{ENDLESS}\n\ndataset ="))
    line = (
        file.read_text()
        .splitlines()
        .index("    def make_plan(self, task, world, actor, kind):")
    )
    problem = "the plan does not stop within 4 steps; end it with `yield STOP`"
    expected = rf"{re.escape(str(file))}:{line + 1}: {problem}"

    dataset = registry.load("dataset", str(file))()
    [task, *_] = dataset.tasks
    for check_part in (check_dataset, check_world):
        with pytest.raises(AssertionError, match=expected):
            check_part(dataset)
    with pytest.raises(CodeError, match=expected):
        dataset.expert_length(task)

    # Agents that follow it play to the limit, and a longer limit of the run counts.
    result = run(Plan("expert", str(file), max_steps=6, out=tmp_path / "run"))
    named = [each for each in result.notices if "within 6 steps" in each]
    assert len(named) == 1
    assert (
        f"line.py:{line + 1}: in 3 of 3 episodes, such as 'to_1', the plan" in named[0]
    )
    assert not result.outcome.failed
    with pytest.raises(CodeError, match=expected):
        _ = RunResult.read(tmp_path / "run", trusted=[file]).episodes


def test_a_world_whose_action_always_slips_is_named(tmp_path: Path) -> None:
    file = tmp_path / "line.py"
    text = WORLD.replace("\n\ndataset =", f"{ENDLESS}\n\ndataset =")
    file.write_text(text.replace("return Feedback()", 'return Feedback("slipped")'))
    line = text.splitlines().index("    def step(self, actor, action):") + 1
    dataset = registry.load("dataset", str(file))()
    expected = rf"{re.escape(str(file))}:{line}: right slipped 1,000 times in a row; 'slipped' is"
    with pytest.raises(CodeError, match=expected):
        dataset.expert_length(dataset.tasks[0])


def test_an_export_says_that_a_plan_was_cut(tmp_path: Path) -> None:
    file = tmp_path / "line.py"
    file.write_text(WORLD.replace("\n\ndataset =", f"{ENDLESS}\n\ndataset ="))
    run(Plan("expert", str(file), out=tmp_path / "run"))
    options = Export(trusted=[file])
    card = export([tmp_path / "run"], tmp_path / "train.jsonl", options)
    assert card.cut_off == card.episodes == 3
    assert [line for line in card.notices if "ended at the limit of steps" in line]


def test_a_plan_may_leave_its_end_to_the_world(tmp_path: Path) -> None:
    # The world ends at the last step that the plan has.
    text = WORLD.replace("\n\ndataset =", f"{ENDLESS}\n\ndataset =")
    text = text.replace("return self.stopped", "return self.stopped or self.place > 3")
    (tmp_path / "line.py").write_text(text)
    dataset = registry.load("dataset", str(tmp_path / "line.py"))()
    check_dataset(dataset)
    check_world(dataset)
    assert dataset.expert_length(dataset.tasks[0]) == 4


@pytest.mark.parametrize(
    ("episode", "field"),
    [
        ('{"at": {1}}', r"start\['at'\]"),
        ('{}, extra={"tool": object()}', r"extra\['tool'\]"),
    ],
)
def test_an_episode_that_is_no_json_is_named_with_its_key(
    episode: str, field: str, tmp_path: Path
) -> None:
    file = tmp_path / "line.py"
    file.write_text(WORLD.replace('"line", {})', f'"line", {episode})'))
    problem = (
        rf"line.py:\d+: episode 'to_1': {field} must be a JSON value: Object of type"
    )
    with pytest.raises(AssertionError, match=problem):
        check(file)


def file_blocks(page: Path) -> list[Block]:
    return [block for block in blocks(page) if block.title.endswith(".py")]


def is_dataset(block: Block) -> bool:
    return re.search(r"^dataset = ", block.text, re.MULTILINE) is not None


DATASETS = [page for page in PAGES if any(map(is_dataset, file_blocks(page)))]


@pytest.mark.parametrize("page", DATASETS, ids=name)
def test_datasets_of_the_documentation_pass(page: Path, tmp_path: Path) -> None:
    for block in file_blocks(page):
        (tmp_path / block.title).write_text(block.text + "\n", encoding="utf-8")
    for block in filter(is_dataset, file_blocks(page)):
        dataset = registry.load("dataset", str(tmp_path / block.title))
        check_dataset(dataset(dataset.splits[0], None, None))
        # As adding.md checks a dataset
        check_dataset(dataset())
        check_world(dataset())


EXPERT = """
    solutions = ("expert",)

    def distance(self, task, world):
        return DISTANCE

    def make_plan(self, task, world, actor, kind):
        for _ in range(goal(task)):
            yield Action("right")
        yield STOP


def goal(task):
    return int(task.episode.id.removeprefix("to_"))


dataset = Lines
"""


def line(folder: Path, distance: str, *changes: tuple[str, str]) -> Path:
    """A line of places with an expert and a distance as a file, with changes."""
    text = WORLD.replace("\n\ndataset = Lines\n", EXPERT)
    text = text.replace("DISTANCE", distance)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    file = folder / "line.py"
    file.write_text(text, encoding="utf-8")
    return file


LEFT = "abs(goal(task) - world.place)"


@pytest.mark.parametrize("checked", [check_dataset, check_world])
@pytest.mark.parametrize(
    ("distance", "problem"),
    [
        (
            "3",
            "episode 'to_1': distance is 3 where the episode is solved; it should be 0",
        ),
        (f"{LEFT} or 3", "distance is 3 where the episode is solved; it should be 0"),
        ("world.place - 3", "it is at least 0"),
        (
            f"{LEFT} or float('nan')",
            "distance must give a finite number as the distance",
        ),
        (
            f"float('nan') if world.place == 3 else {LEFT}",
            "distance must give a finite",
        ),
    ],
)
def test_a_distance_is_a_number_that_ends_at_0(
    distance: str, problem: str, checked: Any, tmp_path: Path
) -> None:
    file = line(tmp_path, distance, ("(1, 2, 3)]", "(1, 3)]"))
    where = rf"{re.escape(str(file))}:\d+: .*{re.escape(problem)}"
    with pytest.raises(AssertionError, match=where.replace(": .*episode", ": episode")):
        checked(registry.load("dataset", str(file))())


RADIUS = ('Family("line")', 'Family("line", goal_radius=3.0)')


@pytest.mark.parametrize("checked", [check_dataset, check_world])
@pytest.mark.parametrize(
    ("distance", "changes"),
    [(LEFT, []), ("None", []), (f"({LEFT}) * 0.1 + 1e-12", []), ("2.5", [RADIUS])],
)
def test_a_distance_of_0_or_within_the_radius_passes(
    distance: str, changes: list[tuple[str, str]], checked: Any, tmp_path: Path
) -> None:
    file = line(tmp_path, distance, *changes)
    checked(registry.load("dataset", str(file))())


def test_a_run_says_that_its_expert_does_not_reach_the_goal(tmp_path: Path) -> None:
    short = ("range(goal(task))", "range(2)")
    file = line(tmp_path, LEFT, short)
    plan = Plan("expert", str(file), out=tmp_path / "run")
    [notice] = run(plan).notices
    assert re.fullmatch(
        rf"{re.escape(str(file))}:\d+: the solution 'expert' does not reach the goal in 2 of 3 "
        "episodes, such as 'to_1'; correct it, the reference, or max_steps",
        notice,
    )
    solved = Plan("expert", str(line(tmp_path, LEFT)), out=tmp_path / "solved")
    assert run(solved).notices == []
    others = Plan("random", str(file), out=tmp_path / "random")
    assert run(others).notices == []


def test_a_world_that_lacks_a_method_is_one_line_with_its_place(tmp_path: Path) -> None:
    file = line(tmp_path, LEFT, ("def done(", "def dune("))
    expected = rf"{re.escape(str(file))}:\d+: Line does not define done; did you mean it by 'dune'"
    with pytest.raises(AssertionError, match=expected):
        check_world(registry.load("dataset", str(file))())
    with pytest.raises(UsageError, match=expected):
        run(Plan("random", str(file), out=tmp_path / "run"))
