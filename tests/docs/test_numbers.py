"""Numbers of the README are those that its commands give."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
from tools import rewards

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


def test_a_row_of_the_table_of_rewards_is_what_its_tool_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # where the script writes its logs
    page = (Path(__file__).parents[2] / "docs/training.md").read_text(encoding="utf-8")
    two_routes = rewards.SETTINGS[1]
    assert f"\n{rewards.line(two_routes)}\n" in page
    # The tool prints the other rows as well.
    for setting in rewards.SETTINGS:
        assert f"\n| {setting.title} |" in page
