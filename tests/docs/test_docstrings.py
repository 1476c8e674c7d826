"""Examples in docstrings print what they say, and names in docstrings exist."""

from __future__ import annotations

import doctest
import importlib
import re
import sys
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

import wayword
from helpers.looping import for_each

ROOT = Path(wayword.__file__).parent
MODULES = {
    ".".join(("wayword", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(
        ".__init__"
    ): path
    for path in sorted(ROOT.rglob("*.py"))
}
TEXTS = {name: path.read_text(encoding="utf-8") for name, path in MODULES.items()}
SHOWN = [name for name, text in TEXTS.items() if ">>> " in text]
EXTRAS = ("torch", "verifiers", "inspect_ai", "transformers", "peft", "ray")
"""Packages of extras that the test environment does not have."""


def _in_comments(text: str) -> str:
    """The comments of a source, as text: a section's examples stand below its heading."""
    lines = (
        line[1:].removeprefix(" ") if line.startswith("#") else ""
        for line in text.split("\n")
    )
    return "\n".join(lines)


@for_each("name", SHOWN)
def test_examples_in_docstrings_and_comments_print_what_they_say(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as missing:
        if str(missing.name).split(".")[0] not in EXTRAS:
            raise
        pytest.skip(f"needs {missing.name}")
    finder = doctest.DocTestFinder()
    runner = doctest.DocTestRunner(
        optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    comments = _in_comments(TEXTS[name])
    parsed = doctest.DocTestParser().get_doctest(
        comments, vars(module).copy(), name, name, 0
    )
    for shown in (*finder.find(module), parsed):
        runner.run(shown)
    assert not runner.failures, (
        f"{name}: {runner.failures} of {runner.tries} examples differ"
    )


@for_each("name", MODULES)
def test_dotted_names_in_docstrings_exist(name: str) -> None:
    """Targets of roles, and ``wayword.core.model`` and its like."""
    text = TEXTS[name]
    roles = re.findall(r":(?:mod|class|func|data|meth):`~?\.?([\w.]+)`", text)
    folders = "|".join(
        sorted(path.name for path in ROOT.iterdir() if (path / "__init__.py").exists())
    )
    spelled = re.findall(rf"``((?:wayword\.)?(?:{folders})\.[\w.]+)``", text)
    missing = [dotted for dotted in (*roles, *spelled) if not _exists(dotted, name)]
    assert not missing, f"{name} names {', '.join(missing)}"


def _exists(dotted: str, here: str) -> bool:
    """Whether the modules that the name leads to, from the package or from here, hold its end."""
    parts = dotted.removeprefix("wayword.").split(".")
    folders = [here.split(".")[:end] for end in range(1, len(here.split(".")) + 1)]
    for length in range(len(parts), 0, -1):
        for folder in folders:
            text = TEXTS.get(".".join((*folder, *parts[:length])))
            if text is not None:
                return all(re.search(rf"\b{part}\b", text) for part in parts[length:])
    return parts[0] in sys.stdlib_module_names or parts[0] in _defined()


@cache
def _defined() -> frozenset[str]:
    """Names that a module of the package defines, at any depth."""
    definition = r"(?m)^\s*(?:class |def |async def )?(\w+)\b\s*[:=(\[]"
    return frozenset(
        chain.from_iterable(re.findall(definition, text) for text in TEXTS.values())
    )
