"""Numbers of the README are those that its commands give."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest

import wayword

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
METRICS = {"houses": "sr", "towns": "tc"}


@pytest.mark.parametrize("agent", ["random", "forward"])
def test_a_row_of_the_readme_is_what_its_command_prints(
    agent: str, tmp_path: Path
) -> None:
    (row,) = re.findall(rf"\| `{agent}` \| none \| (.+) \| (.+) \|", README)
    for (dataset, metric), shown in zip(METRICS.items(), row, strict=True):
        result = wayword.run(agent, dataset, out=tmp_path / dataset)
        table = str(result.table([metric], form="csv"))
        (values,) = csv.DictReader(io.StringIO(table))
        names = (metric, f"{metric}_low", f"{metric}_high")
        mean, low, high = (100 * float(values[name]) for name in names)
        assert shown == f"{mean:.1f} [{low:.1f}, {high:.1f}]"
