"""JSON from other programs has the shapes of a table, or one line says where not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from wayword.core.errors import RecordingError
from wayword.core.shapes import check_shape, parse_untrusted, with_defaults

SHAPES = {
    "name": "",
    "seed": 0,
    "share": 0.0,
    "solved": False,
    "tags": [],
    "tags.*": "",
    "actors": {},
    "actors.*": {},
    "actors.*.agent": "",
}
GOOD: dict[str, Any] = {
    "name": "x",
    "seed": 3,
    "share": 1,
    "solved": True,
    "tags": ["a", "b"],
    "actors": {"leader": {"agent": "oracle", "steps": 4}},
    "other": {"any": [1]},
}


@pytest.mark.parametrize(
    "text", [b'{"a": [1, -2.5e3, null]}', '{"a": [1, -2.5e3, null]}']
)
def test_json_is_parsed_as_usual(text: bytes | str) -> None:
    assert parse_untrusted(text) == {"a": [1, -2500.0, None]}


def test_integers_have_at_most_19_characters() -> None:
    assert parse_untrusted("-" + "9" * 18) == -(10**18) + 1
    for digits in ("1" * 20, "-" + "1" * 19, "1" + "0" * 399):
        with pytest.raises(ValueError, match=f"a whole number of {len(digits)} digits"):
            parse_untrusted(digits)


def test_deep_nesting_is_an_ordinary_error() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_untrusted("[" * 100_000)


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_the_nesting_limit_is_the_same_on_every_python(
    opening: str, closing: str
) -> None:
    value = parse_untrusted(opening * 99 + "1" + closing * 99)
    assert json.loads(json.dumps(value)) == value
    for depth in (100, 500, 3_000):
        with pytest.raises(ValueError, match="nested too deeply"):
            parse_untrusted(opening * depth + "1" + closing * depth)


def test_good_values_and_missing_ones_pass() -> None:
    check_shape(Path("x"), GOOD, SHAPES)
    check_shape(Path("x"), {}, SHAPES)
    check_shape(Path("x"), {**GOOD, "name": None, "actors": None}, SHAPES)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"name": 5}, "field 'name' must be text, got 5"),
        ({"seed": 1.0}, "field 'seed' must be a whole number, got 1.0"),
        ({"seed": True}, "field 'seed' must be a whole number, got True"),
        ({"share": "1"}, "field 'share' must be a number, got '1'"),
        ({"share": False}, "field 'share' must be a number, got False"),
        ({"solved": 1}, "field 'solved' must be true or false, got 1"),
        ({"tags": "a"}, "field 'tags' must be a list, got 'a'"),
        ({"tags": ["a", 5]}, "field 'tags.1' must be text, got 5"),
        ({"tags": [None]}, "field 'tags.0' must be text, got None"),
        ({"actors": [1]}, "field 'actors' must be a mapping"),
        ({"actors": {"x": 5}}, "field 'actors.x' must be a mapping, got 5"),
        ({"actors": {"x": {"agent": 5}}}, "field 'actors.x.agent' must be text, got 5"),
        ({"name": "x", "share": "y" * 99}, "got 'yyy"),
    ],
)
def test_the_first_field_of_another_type_is_named(
    changes: dict[str, Any], line: str
) -> None:
    with pytest.raises(RecordingError) as error:
        check_shape(Path("run.json"), {**GOOD, **changes}, SHAPES)
    assert str(error.value).startswith("run.json: ")
    assert line in str(error.value)
    assert len(str(error.value)) < 140


def test_missing_values_become_empty_ones_and_numbers_stay_missing() -> None:
    complete = with_defaults({"name": None, "seed": None, "other": 5}, SHAPES)
    assert complete == {
        "name": "", "seed": None, "other": 5, "solved": False, "tags": [], "actors": {},
    }  # fmt: skip
    complete["tags"].append("x")
    assert with_defaults({}, SHAPES)["tags"] == [], "the table stays as it is"


def test_defaults_inside_a_mapping() -> None:
    assert with_defaults({}, SHAPES, "actors.*.") == {"agent": ""}
    assert with_defaults({"agent": "x"}, SHAPES, "actors.*.") == {"agent": "x"}
