"""Names with signs that Markdown reads as emphasis, HTML or the end of a row."""

from __future__ import annotations

import pytest

from wayword.metrics.compare import compare
from wayword.metrics.compare import render as compared
from wayword.metrics.summary import summarize
from wayword.metrics.table import markdown, markdown_text, render

TEXTS = {
    "__ours__": r"\_\_ours\_\_",
    "*best*": r"\*best\*",
    "a<b>": r"a\<b\>",
    "a\\*b": r"a\\\*b",
    "my_run_v2": "my_run_v2",
    "_x": r"\_x",
    "two\nlines": "two lines",
    "houses:test `a1b2c3d4`": "houses:test `a1b2c3d4`",
}


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_prints_as_it_is(text: str) -> None:
    assert markdown_text(text) == TEXTS[text]


@pytest.mark.parametrize("name", ["__ours__", "*best*", "a<b>", "two\nlines"])
def test_a_row_has_the_name_in_one_line(name: str) -> None:
    row = summarize(name, [{"sr": 1.0}, {"sr": 0.0}], family="indoor", of=2)
    table = render([row], "markdown").partition("\n>")[0].strip().splitlines()
    assert len(table) == 3
    assert table[2].startswith(f"| {markdown_text(name)} |")


def test_a_comparison_names_its_runs_so() -> None:
    scores = {"1": {"sr": 1.0}, "2": {"sr": 0.0}}
    text = compared(
        compare("*a*", scores, "__b__", scores, family="indoor"), "markdown"
    )
    assert text.startswith(r"\_\_b\_\_ against \*a\*: ")


def test_a_note_prints_as_it_is() -> None:
    notes = ["*ours*: as __theirs__ | p < 0.05", "read a<b>"]
    text = markdown(["Run"], 1, [["ours"]], notes)
    assert r"> \*ours\*: as \_\_theirs\_\_ | p < 0.05" in text
    assert r"> read a\<b\>" in text
