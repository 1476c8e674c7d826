"""The bench's samples of published data: the version's episodes, 200 of each, drawn by its seed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from wayword.bench import ladders
from wayword.bench.real import RealSet, find
from wayword.runs.opening import open_dataset
from wayword.runs.selection import choose

pytestmark = pytest.mark.real

VERSION = ladders.open_bench()


@pytest.mark.parametrize("real", VERSION.real, ids=[each.name for each in VERSION.real])
def test_a_sample_is_the_versions(data: Path, tmp_path: Path, real: RealSet) -> None:
    plan = ladders.Contender(VERSION, "random").real_plan(real, data=data)
    (split, known), *_ = real.checksums.items()
    head, found = find(replace(real, splits=(split,)), plan, tmp_path, complete=True)
    assert head == {
        "dataset": f"{real.name}:{split}",
        "named": head["dataset"],
        "missing": [],
    }
    assert len(known) == 2
    assert found is not None
    assert found.out == tmp_path / "real" / f"{real.name}-{split}"
    tasks = open_dataset(found).tasks
    assert len(choose(found, tasks)) == 200
    quick = choose(replace(found, limit=ladders.QUICK_REAL), tasks)
    assert quick == choose(found, tasks)[: ladders.QUICK_REAL]
