"""The notebook of the documentation: python tools/notebook.py

Runs examples/language_model.ipynb and writes docs/notebook.md: its texts, its code, and what each
cell showed. The page is stored with its outputs, as the notebook is without them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
NOTEBOOK = ROOT / "examples" / "language_model.ipynb"
PAGE = ROOT / "docs" / "notebook.md"
PICTURES = ROOT / "docs" / "pictures" / "notebook"
_TIMEOUT = 600  # seconds of a cell: a small model answers in seconds


def entered(source: str) -> str:
    """Return code as it is entered at a prompt."""
    lines = source.splitlines()
    marked = [f">>> {lines[0]}"]
    for line in lines[1:]:
        if not line:
            continue
        # An indented line continues the one above.
        mark = "..." if line.startswith((" ", ")", "]")) else ">>>"
        marked.append(f"{mark} {line}")
    return "\n".join(marked)


def shown(output: Any, number: int) -> tuple[str, str]:
    """Return an output as text, and as Markdown below the block; pictures are written."""
    if output.output_type == "stream":
        return output.text.rstrip(), ""
    data = output.get("data", {})
    if "image/svg+xml" in data:
        PICTURES.mkdir(exist_ok=True)
        file = PICTURES / f"{number}.svg"
        file.write_text(data["image/svg+xml"], encoding="utf-8")
        return "", f"\n![What the cell draws](pictures/notebook/{file.name})\n"
    return str(data.get("text/plain", "")).rstrip(), ""


def page(cells: list[Any]) -> Iterator[str]:
    """Yield the parts of the page."""
    for number, cell in enumerate(cells):
        if cell.cell_type == "markdown":
            yield f"{cell.source}\n"
            continue
        lines = [entered(cell.source)]
        below = ""
        for output in cell.outputs:
            text, picture = shown(output, number)
            below += picture
            if text:
                lines.append(text)
        block = "\n".join(lines)
        yield f"```pycon\n{block}\n```\n{below}"


def main() -> None:
    """Run the notebook in an empty folder and write its page."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        NotebookClient(
            notebook, timeout=_TIMEOUT, kernel_name="python3", resources=resources
        ).execute()
        text = "\n".join(page(notebook.cells))
        # The folder is of this run alone.
        text = text.replace(folder, "…")
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
