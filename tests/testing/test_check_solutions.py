"""The contract of a dataset: its own solutions reach the goals of its episodes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from helpers.docs_pages import PAGES, ROOT, Block, blocks, name
from wayword.core import registry
from wayword.testing import check_dataset


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
