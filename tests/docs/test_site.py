"""The site's navigation lists every page of docs, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from helpers.docs_pages import ROOT


def _pages(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    else:
        for entry in nav.values() if isinstance(nav, dict) else nav:
            yield from _pages(entry)


def test_every_page_is_in_the_navigation_once() -> None:
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    listed = sorted(_pages(site["nav"]))
    there = sorted(str(p.relative_to(ROOT / "docs")) for p in (ROOT / "docs").rglob("*.md"))
    assert listed == there
