"""Every program and notebook in examples/ runs as it stands: no data, no key, no network."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from tools.notebook import NOTEBOOK, PAGE, entered

from helpers.golden import check_golden
from helpers.sampling import LONG

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
GOLDEN = Path(__file__).parents[1] / "golden"
SPEED = re.compile(r"[\d.,]+ s \([\d.,]+ episodes per second\)")
"""Of a run's last line: it depends on the machine."""


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_prints_the_same_on_every_machine(
    path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WAYWORD_DATA", raising=False)
    # Tests in several processes set it, and tables are as wide as it says.
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(sys, "argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")
    printed = capsys.readouterr().out.replace(str(tmp_path), "…")
    check_golden(GOLDEN / f"example_{path.stem}.txt", SPEED.sub("… s", printed))


NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples").glob("*.ipynb"))


# The one with a language model takes its time; its page shows what it did.
PLAYED = NOTEBOOKS if LONG else [path for path in NOTEBOOKS if path != NOTEBOOK]


@pytest.mark.parametrize("path", PLAYED, ids=lambda path: path.name)
def test_a_notebook_runs_in_a_kernel_and_every_cell_shows_something(
    path: Path, tmp_path: Path
) -> None:
    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), (
        "outputs are not checked in"
    )
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources=resources
    ).execute()
    first, *others = (cell for cell in notebook.cells if cell.cell_type == "code")
    assert "run(" in first.source
    assert all(cell.outputs for cell in others)
    assert list(tmp_path.rglob("pages/index.html"))


def test_there_are_examples() -> None:
    assert EXAMPLES
    cells = [len(nbformat.read(path, as_version=4).cells) for path in NOTEBOOKS]
    assert cells == [15, 15]


def test_the_page_of_the_notebook_has_its_code_and_texts() -> None:
    """``python tools/notebook.py`` writes the page, with what each cell showed."""
    page = PAGE.read_text(encoding="utf-8")
    for cell in nbformat.read(NOTEBOOK, as_version=4).cells:
        text = cell.source
        if cell.cell_type == "code":
            text = entered(text)
        assert text in page, f"{cell.id}: run tools/notebook.py"
