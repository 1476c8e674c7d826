"""A start that is not where the published path begins is a bad record; all are listed."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.robothor_files import apartment, episode, point, write
from wayword.core.errors import DataError
from wayword.datasets.robothor import Robothor, RobothorSettings
from wayword.runs.catalog import data_check


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    apartment(tmp_path)
    records = [episode(number, 0.5, 0.5) for number in range(5)]
    records[1]["initial_position"] = point(30.5, 0.5)
    records[3]["initial_position"] = point(0.5, -8.0)
    # On the mesh of the floor, a path begins next to the start.
    records[4]["initial_position"] = point(0.67, 0.5)
    write(tmp_path, "debug", records)
    return tmp_path


def test_a_start_outside_of_the_apartment_is_named(folder: Path) -> None:
    in_order = RobothorSettings(order="file")
    tasks = Robothor("debug", folder, in_order).tasks
    assert tasks[4].episode.start["x"] == 0.67
    problem = r"field 'initial_position': is 30\.00 m from the first point"
    with pytest.raises(DataError, match=problem):
        _ = tasks[1]


def test_all_bad_records_are_listed(folder: Path) -> None:
    report, is_valid = data_check("robothor:debug", folder, {})
    assert not is_valid
    assert "record 1, field 'initial_position': is 30.00 m" in report
    assert "record 3, field 'initial_position': is 8.50 m" in report
    assert report.endswith("robothor:debug: 2 bad records")
