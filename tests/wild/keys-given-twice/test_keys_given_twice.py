"""No value of a user's file is dropped in silence."""

from __future__ import annotations

from pathlib import Path

import pytest

from wayword.core.errors import DataError, UsageError
from wayword.datasets.sources import example
from wayword.datasets.sources.own import read_tasks
from wayword.runs.plan import read_config, read_recipe
from wayword.settings import load_yaml


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("agent: random\non: houses\nagent: forward\n", "has the key 'agent' twice.*line 3"),
        ("agent: random\non: houses\nsettings: {a: 1, a: 2}\n", "has the key 'a' twice.*line 3"),
        ('agent: random\non: houses\n"on": towns\n', "has an option twice"),
        ("agent: random\non: houses\ncontinue: a\ncontinues: b\n", "has an option twice"),
    ],
)  # fmt: skip
def test_a_recipe_has_each_option_once(text: str, problem: str, tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(text)
    with pytest.raises(UsageError, match=problem):
        read_recipe(recipe)


def test_so_has_a_file_of_settings(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("decoding: free\ndecoding: json\n")
    with pytest.raises(UsageError, match=r"has the key 'decoding' twice.*line 2"):
        read_config(config)


def test_so_has_a_task(tmp_path: Path) -> None:
    task = tmp_path / "task.yaml"
    task.write_text(f"{example()}\nmax_steps: 90\nmax_steps: 900\n")
    with pytest.raises(DataError, match="has the key 'max_steps' twice"):
        read_tasks(task)


def test_keys_of_a_merge_are_given_beside_it() -> None:
    text = "x: &x {a: 1, b: 2}\ny: {<<: *x, <<: {b: 2}, a: 3}\n1: p\n'1': q\n"
    assert load_yaml(text) == {
        "x": {"a": 1, "b": 2}, "y": {"a": 3, "b": 2}, 1: "p", "1": "q"
    }  # fmt: skip
