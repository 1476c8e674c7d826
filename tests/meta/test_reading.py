"""How the product is laid out: one thought a line, room by room."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src/wayword"
TESTS = Path(__file__).parents[1]
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
LAYOUT = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}
MEASURES = ("conditional expressions", "nested comprehensions", "packed statements")
GOAL = (20.0, 0.8, 1.0)
"""The most of each measure per 1,000 lines of code. A bound is never raised."""
DENSITY = 9.5
"""The most tokens in a line of code, on average over a room."""
PRODUCT_DENSITY = 8.5
COMMENTS = 0.05
DOCSTRINGS = 0.15
"""The least shares of the product's lines. They are raised when more is reached, never lowered."""
DIALECT = {
    *("told", "thing", "things", "somebody", "nobody", "whoever", "anew", "purse"),
    *("errand", "errands", "beside", "begun", "shut", "said", "wanted", "asked"),
    *("ways", "whole"),
}
"""Words that name nothing of the field, and stood in many names of the tests."""
MOST_DIALECT = 2.0
"""The most names with such a word in 1,000 names that the tests bind."""
BOUND_NAME = re.compile(
    r"(?m)^ *(?:async def|def|class) (\w+)|^ *(\w+)(?:: [^=\n]+)? = |\bfor (\w+)"
)
"""Functions, classes, variables and targets of loops: parsing all tests would take seconds."""
TEMPLATE_WIDTH = 160
"""Characters of a template's line that a reader sees at once."""


def measure(text: str) -> Counter[str]:
    """Counts of one file. Lines of code are those with a token that is no docstring or import."""
    tree = ast.parse(text)
    counts: Counter[str] = Counter()
    skipped: set[int] = set()
    docstrings: set[int] = set()
    comments: set[int] = set()
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if is_text or isinstance(node, ast.Import | ast.ImportFrom):
            span = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            skipped.update(span)
            if is_text:
                docstrings.update(span)
        if isinstance(node, ast.IfExp):
            counts["conditional expressions"] += 1
        elif isinstance(node, COMPREHENSIONS):
            inner = node.value if isinstance(node, ast.DictComp) else node.elt
            over = any(isinstance(part, COMPREHENSIONS) for part in ast.walk(inner))
            if over or len(node.generators) > 1:
                counts["nested comprehensions"] += 1
        elif (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Tuple)
            and any(isinstance(target, ast.Tuple) for target in node.targets)
        ):
            counts["packed statements"] += len(node.value.elts) - 1
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            comments.add(token.start[0])
        if token.type not in LAYOUT and token.start[0] not in skipped:
            code.update(range(token.start[0], token.end[0] + 1))
            counts["tokens"] += 1
    counts["code"] = len(code)
    counts["docstrings"] = len(docstrings)
    counts["comments"] = len(comments)
    counts["lines"] = len(text.splitlines())
    return counts


ROOMS = sorted(
    path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()
)


@cache
def measure_room(room: str) -> Counter[str]:
    """The counts of all files of a room."""
    counts: Counter[str] = Counter()
    for path in (SOURCE / room).rglob("*.py"):
        counts += measure(path.read_text(encoding="utf-8"))
    return counts


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_has_one_statement_a_line(room: str) -> None:
    counts = measure_room(room)
    for name, bound in zip(MEASURES, GOAL, strict=True):
        rate = 1000 * counts[name] / counts["code"]
        assert rate <= bound, (
            f"{room}: {rate:.1f} {name} per 1,000 lines, at most {bound}"
        )


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_has_one_thought_a_line(room: str) -> None:
    counts = measure_room(room)
    density = counts["tokens"] / counts["code"]
    assert density <= DENSITY, f"{density:.2f} tokens a line, at most {DENSITY}"


def test_the_product_says_why() -> None:
    counts: Counter[str] = Counter()
    for room in ROOMS:
        counts += measure_room(room)
    assert counts["comments"] / counts["lines"] >= COMMENTS
    assert counts["docstrings"] / counts["lines"] >= DOCSTRINGS
    assert counts["tokens"] / counts["code"] <= PRODUCT_DENSITY


def test_names_of_the_tests_are_words_of_the_field() -> None:
    names = []
    for path in sorted(TESTS.rglob("*.py")):
        found = BOUND_NAME.findall(path.read_text(encoding="utf-8"))
        names += ["".join(groups).lower() for groups in found]
    foreign = [name for name in names if DIALECT & set(name.split("_"))]
    assert 1000 * len(foreign) / len(names) <= MOST_DIALECT, sorted(foreign)


def test_lines_of_templates_can_be_seen_at_once() -> None:
    wide = [
        f"{path.relative_to(SOURCE)}:{number}: {len(line)} characters"
        for path in sorted(SOURCE.rglob("*.html"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > TEMPLATE_WIDTH
    ]
    assert wide == []


def test_each_measure_counts_what_it_names() -> None:
    text = '"""A docstring."""\na, b = 1, 2  # why\nc = a if b else [x for y in b for x in y]\n'
    counts = measure(text)
    assert [counts[name] for name in (*MEASURES, "code")] == [1, 1, 1, 2]
    assert [counts[name] for name in ("docstrings", "comments", "lines")] == [1, 1, 3]
    assert counts["tokens"] == 7 + 17
