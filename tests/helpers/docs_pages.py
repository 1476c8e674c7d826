"""The documentation as data: its pages, their fenced blocks and links."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOP = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
PAGES = [*(ROOT / name for name in TOP), *sorted((ROOT / "docs").rglob("*.md"))]

_OPEN = re.compile(r"^(?P<indent> *)```(?P<info>.*)$")
_TITLE = re.compile(r'title="([^"]+)"')
_ASSIGNMENT = re.compile(r"^[A-Z_]+=")


def name(path: Path) -> str:
    """The page's path from the root, for test IDs."""
    return str(path.relative_to(ROOT))


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block. ``line`` is that of its first line of content; ``title`` names a file."""

    language: str
    title: str
    text: str
    line: int


def blocks(path: Path) -> list[Block]:
    """Every fenced block of a page, in order."""
    found: list[Block] = []
    held: list[str] | None = None
    info = ""
    start = 0
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if held is None and (match := _OPEN.match(line)):
            held = []
            info = match["info"]
            start = number + 1
        elif held is not None and line.strip() == "```":
            title = _TITLE.search(info)
            language = info.split()[0] if info.split() else ""
            found.append(
                Block(language, title[1] if title else "", "\n".join(held), start)
            )
            held = None
        elif held is not None:
            held.append(line)
    assert held is None, (
        f"{name(path)}: the block opened on line {start - 1} is never closed"
    )
    return found


def commands(block: Block) -> Iterator[list[str]]:
    """The arguments of each ``wayword`` command: of ``$`` lines in console blocks, else of all."""
    text = block.text.replace("\\\n", " ")
    for line in text.splitlines():
        if block.language == "console":
            if not line.startswith("$ "):
                continue
            line = line[2:]
        words = shlex.split(line, comments=True)
        while words and _ASSIGNMENT.match(words[0]):
            words.pop(0)
        if words and words[0] == "wayword":
            yield words[1:]


def links(path: Path) -> list[str]:
    """Links and pictures of a page that are not on the web; code is left out."""
    text = re.sub(
        r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.S | re.M
    )
    text = re.sub(r"`[^`\n]*`", "", text)
    targets = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(
        r'<img src="([^"]+)"', text
    )
    return [target for target in targets if "://" not in target]


def anchors(path: Path) -> set[str]:
    """Anchors of a page's headings, as GitHub and the site make them."""
    text = re.sub(
        r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.S | re.M
    )
    heads = re.findall(r"^#+ (.+)$", text, flags=re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def spoken(path: Path) -> list[str]:
    """The ``wayword …`` commands written as code in running text."""
    text = re.sub(
        r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.S | re.M
    )
    return re.findall(r"`wayword ([^`]+)`", text)
