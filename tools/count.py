"""Count the lines of a tree by what they are: code, imports, docstrings, comments, blank lines.

    python tools/count.py               # src/wayword, a row a package
    python tools/count.py tests tools   # other folders
    python tools/count.py --ref v0.1.0  # the same folders at another commit

A line counts once, by the tokens on it: as a docstring where one covers it, as an import where an
import statement does, as code where any other token stands on it, as a comment where only a comment
does, else as blank. Modules are counted as files.
"""

from __future__ import annotations

import argparse
import ast
import io
import subprocess
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

KINDS = ("code", "imports", "docstrings", "comments", "blank")
LAYOUT = {
    *(tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.ENCODING, tokenize.ENDMARKER),
}


def kinds_of(source: str) -> Counter[str]:
    """The number of lines of each kind in one file."""
    kind: dict[int, str] = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in LAYOUT:
            continue
        what = "comments" if token.type == tokenize.COMMENT else "code"
        for line in range(token.start[0], token.end[0] + 1):
            if kind.get(line) != "code":
                kind[line] = what
    for node in ast.walk(ast.parse(source)):
        span = _statement(node)
        if span is not None:
            what, first, last = span
            kind.update(dict.fromkeys(range(first, last + 1), what))
    counted = Counter(kind.values())
    counted["blank"] = len(source.splitlines()) - len(kind)
    return counted


def _statement(node: ast.AST) -> tuple[str, int, int] | None:
    """The kind and lines of an import or a docstring (of attributes, too), None for others."""
    match node:
        case ast.Import() | ast.ImportFrom():
            return "imports", node.lineno, node.end_lineno or node.lineno
        case ast.Expr(value=ast.Constant(value=str())):
            return "docstrings", node.lineno, node.end_lineno or node.lineno
    return None


def sources(folder: str, ref: str) -> Iterator[tuple[str, str]]:
    """The path and text of every Python file that git tracks below a folder."""
    listing = ["git", "ls-tree", "-r", "--name-only", ref, "--", folder]
    if not ref:
        listing = ["git", "ls-files", "--", folder]
    for path in subprocess.check_output(listing, text=True).split("\n"):
        if path.endswith(".py"):
            if ref:
                yield (
                    path,
                    subprocess.check_output(
                        ["git", "show", f"{ref}:{path}"], text=True
                    ),
                )
            elif Path(path).is_file():
                yield path, Path(path).read_text(encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="*", default=["src/wayword"])
    parser.add_argument(
        "--ref", default="", help="a commit; the working tree if left out"
    )
    given = parser.parse_args()
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    for folder in given.folders:
        for path, text in sources(folder, given.ref):
            inside = PurePosixPath(path).relative_to(folder).parts
            row = f"{folder}/{inside[0]}" if len(inside) > 1 else folder
            rows[row] += kinds_of(text) + Counter({"modules": 1})
    rows = dict(sorted(rows.items()))
    rows["total"] = sum(rows.values(), Counter())
    wide = max(map(len, rows))
    print(
        f"{'':{wide}} {'modules':>8} {'lines':>8}" + "".join(f" {k:>10}" for k in KINDS)
    )
    for name, found in rows.items():
        lines = sum(found[kind] for kind in KINDS)
        print(
            f"{name:{wide}} {found['modules']:>8} {lines:>8}"
            + "".join(f" {found[kind]:>10}" for kind in KINDS)
        )


if __name__ == "__main__":
    main()
