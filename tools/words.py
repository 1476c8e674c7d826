"""Count words of a private dialect where an engineer expects the field's.

    python tools/words.py                 # counts: identifiers, prose, docstring openings
    python tools/words.py --names 50      # names drawn at random, for a fresh reader
    python tools/words.py --messages      # every message a user may read, with its place
    python tools/words.py --list found    # places of one word in identifiers

An identifier counts at each place where it stands, if one of its parts (``as_told`` has two) is in
``NAMES``. Prose is docstrings, comments and literals of two or more words in src, and the pages of
docs except the log and the decisions; prompts and tables of words are data and are not read.
Names of published splits such as ``val_seen`` do not count.
"""

from __future__ import annotations

import argparse
import ast
import io
import random
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src" / "wayword"

#: Parts of names with the field's word for each in the style guide: object, neighbor, skill, text …
NAMES = frozenset(
    re.findall(
        r"\w+",
        "told tell tells thing things way ways errand errands said asked wanted found known seen "
        "kept made own whole there here purse purses strikes shut begun anew",
    )
)
#: The same for running text, as patterns, without words that are plain English in a sentence.
PROSE = (
    *(
        "told",
        "tells?",
        "things?",
        "errands?",
        "purses?",
        "strikes",
        "shut",
        "anew",
        "beside",
    ),
    *(
        "nobody|somebody|whoever",
        "so many",
        "for want of",
        "lies? between",
        "is void",
        "goes on",
    ),
    *(
        "what came of",
        "works? out|worked out",
        "save (?:an?|one|for)",
        "is none itself",
    ),
)
OPENINGS = ("What", "Whether", "Where", "How", "Why", "One")
SPLITS = re.compile(
    r"(?:val(?:id)?|test|dev)_(?:un)?seen|(?:un)?seen_(?:dev|test)|NotFound"
)


def modules() -> Iterator[tuple[Path, str]]:
    """Source files with their text."""
    for path in sorted(SOURCES.rglob("*.py")):
        yield path, path.read_text(encoding="utf-8")


def identifiers() -> Iterator[tuple[Path, int, str]]:
    """Names as they stand in the code: file, line, name."""
    for path, text in modules():
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.NAME and not SPLITS.search(token.string):
                yield path, token.start[0], token.string


def parts(name: str) -> set[str]:
    """Words of a name in snake or camel case, in lower case."""
    return {p.lower() for p in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def bindings() -> Iterator[tuple[Path, int, str]]:
    """Names with file, line, scope and kind: classes, functions, parameters, variables, attributes.

    Names whose meaning is a convention (``self``, ``cls``, ``_``, ``__init__``) do not count.
    """
    for path, text in modules():
        for line, scope, name, kind in _bound(ast.parse(text), "module"):
            if name not in {"self", "cls", "_"} and not name.startswith("__"):
                yield path, line, f"{scope}: {name} ({kind})"


def _bound(node: ast.AST, scope: str) -> Iterator[tuple[int, str, str, str]]:
    """Names bound within ``node``: line, scope, name, kind."""
    for child in ast.iter_child_nodes(node):
        inner = scope
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield (
                child.lineno,
                scope,
                child.name,
                type(child).__name__.removesuffix("Def").lower(),
            )
            inner = child.name if scope == "module" else f"{scope}.{child.name}"
        elif isinstance(child, ast.arg):
            yield child.lineno, scope, child.arg, "parameter"
        elif isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            yield (
                child.lineno,
                scope,
                child.id,
                "field" if isinstance(node, ast.AnnAssign) else "variable",
            )
        elif isinstance(child, ast.Attribute) and isinstance(child.ctx, ast.Store):
            yield child.lineno, scope, child.attr, "attribute"
        yield from _bound(child, inner)


def docstrings() -> Iterator[tuple[Path, int, str]]:
    """Docstrings of modules, classes and functions: file, line, text."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for path, text in modules():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, kinds) and (doc := ast.get_docstring(node)):
                yield path, getattr(node, "lineno", 1), doc


def messages() -> Iterator[tuple[Path, int, str]]:
    """Literals of two words or more that are no docstrings, fields of f-strings as ``{}``."""
    for path, text in modules():
        yield from _messages_of(path, ast.parse(text))


def _messages_of(path: Path, tree: ast.AST) -> Iterator[tuple[Path, int, str]]:
    within: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            within.add(id(node.value))
        if id(node) in within:
            continue
        if isinstance(node, ast.JoinedStr):
            within.update(id(child) for child in ast.walk(node))
            pieces = (
                v.value if isinstance(v, ast.Constant) else "{}" for v in node.values
            )
            literal = "".join(str(piece) for piece in pieces)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            literal = node.value
        else:
            continue
        if re.search(r"[A-Za-z]{2,} +[A-Za-z{]", literal):
            yield path, node.lineno, literal


def comments() -> Iterator[str]:
    """Comments of all source files."""
    for _, text in modules():
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield token.string


def pages() -> Iterator[str]:
    """Pages for users, without code blocks."""
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        if path.name != "LOG.md":
            yield re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.S)


def report() -> None:
    """Print the three counts."""
    names = Counter(w for _, _, name in identifiers() for w in parts(name) & NAMES)
    texts = [doc for _, _, doc in docstrings()]
    prose = "\n".join([*texts, *comments(), *(m for _, _, m in messages()), *pages()])
    words = {p: len(re.findall(rf"\b(?:{p})\b", prose, flags=re.I)) for p in PROSE}
    openings = Counter(
        w for doc in texts if (w := doc.split(maxsplit=1)[0]) in OPENINGS
    )
    for title, counts in (
        ("identifiers", names),
        ("prose", words),
        ("openings", openings),
    ):
        print(f"{title}: {sum(counts.values())}")
        print(
            "   ", ", ".join(f"{w} {n}" for w, n in Counter(counts).most_common() if n)
        )


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--names", type=int, metavar="N", help="N different names, with scope and kind"
    )
    parser.add_argument(
        "--docstrings", type=int, metavar="N", help="N docstrings at random"
    )
    parser.add_argument(
        "--messages", action="store_true", help="all messages with their places"
    )
    parser.add_argument(
        "--list", metavar="WORD", help="places of a word in identifiers"
    )
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    if options.names:
        first = {(path, name): line for path, line, name in reversed(list(bindings()))}
        rows = [
            (p, line, n)
            for (p, n), line in rng.sample(sorted(first.items()), options.names)
        ]
    elif options.docstrings:
        rows = rng.sample(list(docstrings()), options.docstrings)
    elif options.messages:
        rows = list(messages())
    elif options.list:
        rows = [row for row in identifiers() if options.list in parts(row[2])]
    else:
        report()
        return 0
    for path, line, text in rows:
        print(f"{path.relative_to(SOURCES)}:{line}: {text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
