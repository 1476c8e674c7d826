"""Prompt pages: all that an agent sends to a model, as one Jinja template.

A page reads from top to bottom as the model sees it. Each ``{% block %}`` is a text that the agent
renders by name, or a part of one. Slots are the agent's values: ``{{ instruction }}``. Blank lines
that an absent part leaves behind are removed; those in values are kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from jinja2.runtime import Context

from wayword.core.errors import UsageError, suggest
from wayword.core.files import read_text

SLOT = re.compile(r"\{([a-z_]+)\}")
"""A slot in a user's text. Jinja's syntax, which shipped pages use, is never run from there."""

Block = Callable[[Context], Iterator[str]]
_USER_BLOCKS = "user_blocks"
# Stands for a newline of a value while blank lines of the page are removed: a private character.
_NEWLINE = "\ue000"
_BLANK_LINES = re.compile(r"\n{3,}")


class Prompts:
    """The prompts of an agent: ``Prompts(__file__).fill("system", limit=12)``.

    ``page`` is a file in the folder of the agent's module. Texts ``BLOCK.txt`` in ``folder`` (the
    setting ``prompts=DIR``) replace blocks of the page; their slots read ``{instruction}``. Raises
    ``UsageError`` for a text that replaces no block.
    """

    def __init__(
        self,
        module: str,
        folder: str = "",
        page: str = "prompt.jinja",
    ) -> None:
        home = Path(module).parent
        self._pages = _pages(home)
        self._page = self._pages.get_template(page)
        self._page_of = _page_names(home)
        self._user_blocks: dict[str, Block] = {}
        if folder and not Path(folder).is_dir():
            raise UsageError(f"prompts={folder}: no such folder")
        paths: list[Path] = []
        if folder:
            # Editors keep the last version next to a file, with ~ at its end.
            files = [p for p in sorted(Path(folder).iterdir()) if p.name[-1] != "~"]
            # A folder without a prompt, or a misspelled file, would silently have no effect.
            paths = [path for path in files if path.suffix == ".txt"]
            misnamed = [
                path.name
                for path in files
                if path.stem in self._page_of and path not in paths
            ]
            if misnamed or not paths:
                found = ", ".join(misnamed) or "no prompts"
                raise UsageError(
                    f"prompts={folder}: contains {found}; each is a file such as "
                    f"{next(iter(self._page_of))}.txt"
                )
        for path in paths:
            if path.stem not in self._page_of:
                hint = suggest(path.stem, self._page_of)
                raise UsageError(
                    f"{path}: {home.name} has no prompt of that name; {hint}"
                )
            self._user_blocks[path.stem] = _user_block(path)

    def __contains__(self, block: str) -> bool:
        return block in self._page_of

    def __getitem__(self, block: str) -> str:
        """Return a text without slots."""
        return self.fill(block)

    def fill(self, block: str, **slots: object) -> str:
        """Render a block of the page, or of another page of its folder. Braces in values are no
        slots.

        Raises ``UsageError`` if a user's text has a slot without a value.
        """
        page = self._page
        if block not in page.blocks:
            page = self._pages.get_template(self._page_of[block])
        context = page.new_context({**slots, _USER_BLOCKS: self._user_blocks})
        text = "".join(context.blocks[block][0](context))
        if "\n\n\n" in text:
            text = _BLANK_LINES.sub("\n\n", text)
        text = text.strip("\n")
        return text.replace(_NEWLINE, "\n")


class _Page(Template):
    """A template whose blocks can be replaced by a user's texts, also where it is included."""

    def new_context(
        self,
        vars: dict[str, Any] | None = None,  # noqa: A002  # the names of the base class
        shared: bool = False,
        locals: Mapping[str, Any] | None = None,  # noqa: A002
    ) -> Context:
        """Return the context of a page in which a user's blocks replace its own."""
        context = super().new_context(vars, shared, locals)
        for name, block in (vars or {}).get(_USER_BLOCKS, {}).items():
            if name in context.blocks:
                context.blocks[name] = [block]
        return context


@cache
def _pages(folder: Path) -> Environment:
    """Return the pages of a folder; a missing slot is an error."""
    pages = Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        finalize=_keep_newlines,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # prompts are plain text
    )
    pages.template_class = _Page
    pages.globals.clear()
    return pages


@cache
def _page_names(folder: Path) -> Mapping[str, str]:
    """The pages of all blocks in a folder. Agents of one folder share a user's texts."""
    pages = _pages(folder)
    names = pages.list_templates(extensions=["jinja"])
    page_of = {}
    for name in names:
        for block in pages.get_template(name).blocks:
            page_of[block] = name
    return page_of


def _keep_newlines(value: object) -> object:
    """Protect newlines of values: those of the page are its layout."""
    if isinstance(value, str):
        return value.replace("\n", _NEWLINE)
    return value


def _user_block(path: Path) -> Block:
    """Return a user's text as a block of a page."""
    text = read_text(path).strip("\n")

    def render(context: Context) -> Iterator[str]:
        """Fill the text; a slot is a value, or another block of the page."""
        # A slot is a value, or another block of the page.
        values = {name: context.parent[name] for name in context.parent}
        slots = set(SLOT.findall(text))
        blocks = slots & (context.blocks.keys() - values.keys() - {path.stem})
        if unknown := slots - values.keys() - blocks:
            there_are = ", ".join(sorted(values.keys() - {_USER_BLOCKS}))
            raise UsageError(
                f"{path} has unknown slots {sorted(unknown)}; there are: {there_are}"
            )
        for name in blocks:
            block_text = "".join(context.blocks[name][0](context))
            values[name] = block_text.strip("\n")
        filled = SLOT.sub(lambda match: str(values[match[1]]), text)
        # A text without words leaves no line.
        if filled:
            yield filled.replace("\n", _NEWLINE) + "\n"

    return render
