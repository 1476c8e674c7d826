"""The generated pages are what the code would write now."""

from __future__ import annotations

import pytest
from tools import reference

NAMES = (
    *("cli.md", "agents.md", "datasets.md", "worlds.md", "models.md", "metrics.md"),
    "released.md",
    "prompts.md",
)


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return reference.pages()


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_current(name: str, pages: dict[str, str]) -> None:
    path = reference.FOLDER / name
    written = path.read_text(encoding="utf-8") if path.is_file() else ""
    assert written == pages[name], (
        f"{name} is out of date: run python tools/reference.py"
    )


def test_there_are_no_other_pages(pages: dict[str, str]) -> None:
    assert sorted(pages) == sorted(NAMES)
    assert {path.name for path in reference.FOLDER.iterdir()} == set(NAMES)
