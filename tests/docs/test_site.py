"""The documentation builds as a site, and its navigation lists every page."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from mkdocs.commands.build import build
from mkdocs.config import load_config

from helpers.docs_pages import ROOT, blocks, links

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))


def _pages(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    else:
        for entry in nav.values() if isinstance(nav, dict) else nav:
            yield from _pages(entry)


def test_every_page_is_in_the_navigation_once() -> None:
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert sorted(_pages(site["nav"])) == [str(p.relative_to(DOCS)) for p in PAGES]


def test_the_index_lists_every_page_but_single_decisions() -> None:
    targets = {link.partition("#")[0] for link in links(DOCS / "index.md")}
    listed = {target for target in targets if target.endswith(".md")}
    pages = {str(path.relative_to(DOCS)) for path in PAGES} - {"index.md"}
    assert listed == {page for page in pages if not re.match(r"decisions/\d", page)}


def _code_blocks(page: str) -> dict[str, str]:
    """Text of the code blocks of a built page, with their markup."""
    found = re.findall(
        r"<pre[^>]*>(?:<span></span>)?<code[^>]*>(.*?)</code></pre>", page, re.S
    )
    return {
        _flat(html.unescape(re.sub(r"<[^>]+>", "", markup))): markup for markup in found
    }


def _flat(text: str) -> str:
    """Without indentation, which a block within a list loses."""
    return re.sub(r"^ +", "", text, flags=re.M).strip()


def test_the_site_builds_and_every_block_is_highlighted_as_code(tmp_path: Path) -> None:
    """Strict: a dead link, a dead anchor or a page outside the navigation fails the build."""
    build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(tmp_path)))
    seen = 0
    for path in PAGES:
        at = path.relative_to(DOCS).with_suffix("")
        at = at.parent if at.name in ("index", "README") else at
        page = (tmp_path / at / "index.html").read_text(encoding="utf-8")
        assert not re.findall(r'<(?:script|link)[^>]+(?:src|href)="https?:', page), path
        built = _code_blocks(page)
        for block in blocks(path):
            where = f"{path}:{block.line}"
            markup = built.get(_flat(block.text))
            assert markup is not None, f"{where}: not code in the built site"
            assert block.language == "text" or "<span style=" in markup, (
                f"{where}: no colors"
            )
            assert not block.title or f">{block.title}</span>" in page, (
                f"{where}: no title"
            )
            seen += 1
    assert seen > 100
