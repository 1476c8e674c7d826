"""Names with signs that LaTeX prints as others, or reads as options."""

from __future__ import annotations

import shutil
from itertools import pairwise
from pathlib import Path

import pytest

from wayword.metrics.table import latex_text
from wayword.runs import Plan, run
from wayword.runs.reports import table

TEXTS = {
    "a<b": r"a\textless{}b",
    "a>b": r"a\textgreater{}b",
    "a|b": r"a\textbar{}b",
    "[ours]": "{[}ours]",
    "*ours": "{*}ours",
    "ours [3] *": "ours [3] *",
    "a_b~c^d\\e": r"a\_b\textasciitilde{}c\textasciicircum{}d\textbackslash{}e",
}


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_prints_as_it_is(text: str) -> None:
    assert latex_text(text) == TEXTS[text]


@pytest.mark.parametrize("preset", ["", "r2r"])
def test_no_row_begins_with_options_of_the_row_before(
    preset: str, tmp_path: Path
) -> None:
    run(Plan("random", "houses", limit=2, out=tmp_path / "first"))
    folders = [tmp_path / "first"]
    for name in ("[ours]", "*ours"):
        folders.append(tmp_path / name)
        shutil.copytree(tmp_path / "first", folders[-1])
    lines = table(folders, "latex", preset=preset).splitlines()
    after = [second for first, second in pairwise(lines) if first.endswith("\\\\")]
    assert any(line.startswith("{[}ours") for line in after)
    assert not any(line.startswith(("[", "*")) for line in after)
