"""ProcTHOR's houses before schema 1.0.0, in one file, and of generators with other ids."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from datasets.test_procthor import house
from wayword.core.errors import DataError
from wayword.datasets.procthor import Procthor, ProcthorSettings


def opened(folder: Path, record: dict[str, Any], indent: int | None = None) -> Procthor:
    """ProcTHOR's split with this house alone."""
    (folder / "procthor").mkdir(exist_ok=True)
    text = json.dumps(record, indent=indent)
    (folder / "procthor" / "val.jsonl").write_text(text)
    return Procthor("val", folder, ProcthorSettings(episodes=2))


def old_house() -> dict[str, Any]:
    record = house()
    (door,) = record["doors"]
    low, high = door.pop("holePolygon")
    door["boundingBox"] = {"max": high, "min": low}
    return record


@pytest.mark.parametrize("indent", [None, 4])
def test_a_house_of_the_version_before_is_the_same(
    tmp_path: Path, indent: int | None
) -> None:
    expected = opened(tmp_path, house()).place("val_0").ground
    ground = opened(tmp_path, old_house(), indent).place("val_0").ground
    assert ground.clear((3.5, 3.0), (4.5, 3.0))
    assert (ground.free == expected.free).all()


@pytest.mark.parametrize("name", ["bed-0 (bedroom)", "small|2|0", "Mug", "mug_1|2"])
def test_an_id_without_a_type_is_refused(tmp_path: Path, name: str) -> None:
    record = house()
    record["objects"][1]["id"] = name
    with pytest.raises(DataError, match=r"field 'id': must begin with a type") as error:
        opened(tmp_path, record).tasks[0]
    assert repr(name) in str(error.value)
