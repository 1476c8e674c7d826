"""Legends name every series, and tell series of one name apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from wayword.runs import Plan, run
from wayword.viewer.plots.display import Plot, plot

TREE = {"dataset": {"houses": 2, "episodes": 8}}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Checkpoints 1 and 2 of two trainings, in folders of their own."""
    top = tmp_path_factory.mktemp("trainings")
    for number, name in enumerate(
        ["ppo/step-1", "ppo/step-2", "_sac/step-1", "_sac/step-2"]
    ):
        run(Plan("random", "houses", "", {**TREE, "steps": 3 + number}, out=top / name))
    return top


def legend(drawn: Plot) -> list[str]:
    (shown,) = drawn.figure.legends
    return [text.get_text().strip() for text in shown.get_texts()]


def test_a_name_may_begin_with_an_underscore(runs: Path) -> None:
    paths = [runs / "ppo" / "step-1", runs / "_sac" / "step-2"]
    labels: Any = ["_before", "after"]
    for kind in ("length", "map"):
        shown = legend(plot(paths, kind, labels=labels))
        assert any("_before" in each for each in shown), kind


def test_checkpoints_of_two_trainings_are_two_curves(runs: Path) -> None:
    drawn = plot([runs / "ppo", runs / "_sac"], "curve")
    assert legend(drawn) == ["ppo/step", "_sac/step"]
    (axes,) = drawn.figure.axes
    for bars in axes.containers:
        assert list(bars.lines[0].get_xdata()) == [1, 2]
