"""``wayword train`` where it cannot go on: one clear line each, before any work is done."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from typer.testing import CliRunner

from wayword.cli.app import app
from wayword.core.errors import UsageError
from wayword.training.recipes import Asked, names, recipe


def message(*arguments: str) -> str:
    """What stops the command."""
    found = CliRunner().invoke(app, ["train", *arguments])
    assert isinstance(found.exception, UsageError)
    return str(found.exception)


def test_a_missing_extra_is_named(tmp_path: Path) -> None:
    if importlib.util.find_spec("torch") is not None:
        pytest.fail("the tests' environment is to be without torch")
    said = message("walker", "--on", "houses:train", "--out", str(tmp_path / "run"))
    assert said.startswith("training needs torch: pip install 'wayword[train]'")
    assert not (tmp_path / "run").exists()


def test_a_test_split_is_refused() -> None:
    assert "houses:test is no training split" in message("walker", "--on", "houses:test")


def test_a_recipe_that_is_not_there_is_named() -> None:
    assert "no recipe is called 'papers'" in message("walker", "--recipe", "papers")


def test_a_field_that_a_recipe_lacks_is_named() -> None:
    assert "has no field 'rates'" in message("walker", "--on", "houses:train", "--set", "rates=1")


@pytest.mark.parametrize("name", names())
def test_the_shipped_recipes_are_whole(name: str) -> None:
    assert recipe(name).batch > 0


def test_the_papers_recipe_is_the_papers() -> None:
    found = recipe("paper")
    assert (found.shape.lora, found.shape.alpha, found.shape.dropout) == (8, 16, 0.05)
    assert (found.rate, found.warm_up, found.batch, found.epochs) == (3e-4, 0.1, 16, 20)


def test_home_tasks_are_trained_in_the_layout_that_asks_for_choices() -> None:
    for asked in (Asked("act", ["household:train"]), Asked("act", name="homes")):
        (task,) = asked.recipe().tasks
        assert task.settings == {"layout": "walk"}


def test_the_homes_recipe_holds_its_dev_rooms_out() -> None:
    (task,) = recipe("homes").tasks
    assert set(task.dev.scenes) == set(task.sources[0].leave_out) != set()


def test_without_a_dev_split_some_training_episodes_are_held_out() -> None:
    (task,) = Asked("velma", ["map2seq:seen_dev"]).recipe().tasks
    (source,) = task.sources
    assert (source.skip, task.dev.only) == (20, 20)
    assert source.area == task.dev.area == "seen"


def test_rbl_brings_rounds_of_own_walks() -> None:
    assert Asked("walker", ["houses:train"]).recipe().rounds == 0
    assert Asked("walker", ["houses:train"], method="rbl").recipe().rounds > 0
