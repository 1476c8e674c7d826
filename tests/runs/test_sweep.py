"""Sweeps: one run a value, one table, one picture; the same command goes on."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from wayword.cli.app import app
from wayword.core.errors import UsageError
from wayword.metrics.intervals import Interval
from wayword.runs.folder import RunFolder
from wayword.runs.plan import Plan
from wayword.runs.sweep import Curve, draw, variants

SVG = "{http://www.w3.org/2000/svg}"


def sweep(out: Path, *more: str) -> str:
    given = ["run", "random", "--on", "houses", "--limit", "3", "--out", str(out), *more]
    result = CliRunner().invoke(app, given)
    assert result.exit_code == 0, result.output
    return result.output


def test_every_value_is_a_run_and_the_picture_shows_them_all(tmp_path: Path) -> None:
    told = sweep(tmp_path / "s", "--sweep", "steps=1,4,9")
    folders = sorted(path.parent.name for path in tmp_path.glob("s/*/config.json"))
    assert folders == ["steps=1", "steps=4", "steps=9"]
    longest = {
        name: max(s["steps"] for _, s in RunFolder.read(tmp_path / "s" / name).scores())
        for name in folders
    }
    assert longest == {"steps=1": 2, "steps=4": 5, "steps=9": 10}  # and the stop
    assert "steps=4" in told
    assert str(tmp_path / "s" / "sweep.svg") in told.replace("\n", "")
    drawn = ElementTree.fromstring((tmp_path / "s" / "sweep.svg").read_text())
    texts = [element.text for element in drawn.iter(f"{SVG}text")]
    assert {"1", "4", "9", "steps", "SR"} <= set(texts)


def test_several_settings_are_combined(tmp_path: Path) -> None:
    plan = Plan("random", "houses", settings={"dataset": {"seed": 7}}, out=tmp_path)
    made = variants(plan, ["steps=1,2", "dataset.views=12,24"])
    assert [v.choices for v in made] == [
        (("steps", "1"), ("dataset.views", "12")),
        (("steps", "1"), ("dataset.views", "24")),
        (("steps", "2"), ("dataset.views", "12")),
        (("steps", "2"), ("dataset.views", "24")),
    ]
    assert made[1].plan.settings == {"dataset": {"seed": 7, "views": 24}, "steps": 1}
    assert made[1].plan.out == tmp_path / "steps=1,dataset.views=24"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["steps"], "KEY=VALUE,VALUE"),
        (["steps=1"], "at least two values"),
        (["steps=1,1"], "given twice"),
        (["steps=1,2", "steps=3,4"], "a setting is given twice"),
    ],
)
def test_a_sweep_that_is_none_is_named(given: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        variants(Plan("random", "houses"), given)


def test_values_lie_to_scale_and_words_in_order() -> None:
    def heights(*names: str) -> list[float]:
        line = Curve("SR", tuple((name, Interval(0.5, 0.4, 0.6)) for name in names))
        drawn = ElementTree.fromstring(draw("x", [line]))
        return [float(c.attrib["cx"]) for c in drawn.iter(f"{SVG}circle")]

    left, middle, right = heights("0", "1", "4")
    assert (middle - left) / (right - left) == pytest.approx(0.25)
    left, middle, right = heights("low", "some", "high")
    assert (middle - left) / (right - left) == pytest.approx(0.5)


def test_a_single_episode_has_a_point_and_no_interval() -> None:
    drawn = draw("<b>", [Curve("SR & more", (("1", Interval(1.0)), ("2", Interval(0.0))))])
    assert "nan" not in drawn
    assert "<b>" not in drawn
    ElementTree.fromstring(drawn)
