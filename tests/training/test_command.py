"""``python -m weights.sft`` where it cannot go on: one clear line each, before any work is done."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from typer.testing import CliRunner
from weights.sft.__main__ import app
from weights.sft.finetuning import IGNORED, Encoded

from wayword.core.errors import UsageError, install_command


def error_of(*arguments: str) -> str:
    """The error that stops the command."""
    found = CliRunner().invoke(app, [*arguments])
    assert isinstance(found.exception, UsageError)
    return str(found.exception)


def test_a_missing_extra_is_named(tmp_path: Path) -> None:
    if importlib.util.find_spec("torch") is not None:
        pytest.fail("the tests' environment is to be without torch")
    line = error_of("walker", "--on", "houses:train", "--out", str(tmp_path / "run"))
    assert line.startswith("training needs torch")
    assert line.endswith(install_command("train"))
    assert not (tmp_path / "run").exists()


def test_a_test_split_is_refused() -> None:
    assert "houses:test is not a training split" in error_of(
        "walker", "--on", "houses:test"
    )


def test_a_setting_that_training_lacks_is_named() -> None:
    message = error_of("walker", "--on", "houses:train", "--set", "rates=1")
    assert "train has no setting 'rates'" in message


def test_own_walks_need_a_model_that_walks() -> None:
    assert "name it with --walks" in error_of(
        "velma", "--on", "towns:train", "--method", "rbl"
    )


def test_a_row_labels_the_next_token_of_each_decision() -> None:
    row = Encoded((5, 6, 7), (0, 2), (6, 9)).row(end=1)
    assert row == {"input_ids": [5, 6, 7, 1], "labels": [IGNORED, 6, IGNORED, 9]}
