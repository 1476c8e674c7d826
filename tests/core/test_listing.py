"""`wayword list`: what is registered, without importing it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from wayword.core import registry
from wayword.core.errors import UsageError

CLASSES: list[registry.Kind] = ["agent", "world", "dataset", "model", "perceiver"]


@pytest.mark.parametrize("kind", CLASSES)
def test_the_summary_is_the_first_sentence_of_the_docstring(
    kind: registry.Kind,
) -> None:
    for name in registry.names(kind):
        docstring = registry.load(kind, name).__doc__
        expected = registry.first_sentence(docstring)
        assert registry.summary(kind, name) == expected, name
        ends = expected.rstrip('"')[-1]
        assert ends in ".?…", f"{name} is cut: {expected}"


def test_the_listing_has_no_markup() -> None:
    listing = registry.listing()
    assert "`" not in listing
    assert ":class:" not in listing


def test_every_part_has_a_summary() -> None:
    without = [
        line for line in registry.listing().splitlines() if len(line.split()) == 1
    ]
    assert without == [line for line in without if not line.startswith(" ")]


def test_an_unknown_kind_is_refused_with_those_known() -> None:
    with pytest.raises(UsageError, match="unknown kind 'agnets'"):
        registry.listing("agnets")


def test_listing_agents_imports_neither_agents_nor_numpy() -> None:
    code = (
        "import sys\n"
        "from wayword.core import registry\n"
        "assert 'navgpt' in registry.listing('agents')\n"
        "print(sorted({'numpy', 'wayword.agents'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
