"""Names with signs that LaTeX prints as others, or reads as options."""

from __future__ import annotations

import shutil
from itertools import pairwise
from pathlib import Path

import pytest

from wayword.metrics.table import latex_number, latex_text
from wayword.runs import Plan, run
from wayword.runs.reports import table

TEXTS = {
    "a<b": r"a\textless{}b",
    "a>b": r"a\textgreater{}b",
    "a|b": r"a\textbar{}b",
    "[ours]": "{[}ours]",
    "*ours": "{*}ours",
    "ours [3] *": "ours [3] *",
    "with `my_option`": r"with \texttt{my\_option}",
    "a`b": r"a\textasciigrave{}b",
    "a_b~c^d\\e": r"a\_b\textasciitilde{}c\textasciicircum{}d\textbackslash{}e",
}


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_prints_as_it_is(text: str) -> None:
    assert latex_text(text) == TEXTS[text]


NUMBERS = {
    "13.3 [5.9, 24.9]": r"$13.3\ [5.9, 24.9]$",
    "**13.3** [5.9, 24.9]": r"$\mathbf{13.3}\ [5.9, 24.9]$",
    "46.7 ± 17.9 (34)": r"$46.7 \pm 17.9\ (34)$",
    "0.04 (0.01 assumed)": r"$0.04\ (0.01\ \mathrm{assumed})$",
    "60 of 1,021": r"$60\ \mathrm{of}\ 1{,}021$",
    "– (34)": r"$\mbox{--}\ (34)$",
    "no horizon": "no horizon",
    "-1,800": "$-1{,}800$",
}


@pytest.mark.parametrize("text", NUMBERS)
def test_a_number_keeps_its_gaps_in_math_mode(text: str) -> None:
    assert latex_number(text) == NUMBERS[text]


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
