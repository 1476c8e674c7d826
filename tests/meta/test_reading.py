"""How the product is laid out: one thought a line, room by room."""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src/wayword"
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
TEMPLATE_WIDTH = 160
"""Characters of a template's line that a reader sees at once."""


def measure(text: str) -> Counter[str]:
    """Counts of one file. Lines of code are those with a token that is no docstring or import."""
    tree = ast.parse(text)
    counts: Counter[str] = Counter()
    skipped: set[int] = set()
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if is_text or isinstance(node, ast.Import | ast.ImportFrom):
            skipped.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
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
        if token.type not in LAYOUT and token.start[0] not in skipped:
            code.update(range(token.start[0], token.end[0] + 1))
    counts["code"] = len(code)
    return counts


ROOMS = sorted(
    path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()
)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_has_one_statement_a_line(room: str) -> None:
    counts: Counter[str] = Counter()
    for path in (SOURCE / room).rglob("*.py"):
        counts += measure(path.read_text(encoding="utf-8"))
    for name, bound in zip(MEASURES, GOAL, strict=True):
        rate = 1000 * counts[name] / counts["code"]
        assert rate <= bound, (
            f"{room}: {rate:.1f} {name} per 1,000 lines, at most {bound}"
        )


def test_lines_of_templates_can_be_seen_at_once() -> None:
    wide = [
        f"{path.relative_to(SOURCE)}:{number}: {len(line)} characters"
        for path in sorted(SOURCE.rglob("*.html"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > TEMPLATE_WIDTH
    ]
    assert wide == []


def test_each_measure_counts_what_it_names() -> None:
    text = (
        '"""A docstring."""\na, b = 1, 2\nc = a if b else [x for y in b for x in y]\n'
    )
    counts = measure(text)
    assert [counts[name] for name in (*MEASURES, "code")] == [1, 1, 1, 2]
