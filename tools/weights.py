"""Check the trained weights in the package against their list and cards, or write the list.

python tools/weights.py            check; what `make weights` runs
python tools/weights.py --write    after a file was replaced on purpose
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "src" / "wayword" / "weights"
LIST = "SHA256SUMS"
MOST = 20_000_000
"""Bytes that all weights together may take."""
CARD_LINES = (
    "| Splits | ",
    "- Against the rules: ",
    "- Against the simplest learner: ",
)
"""What a card must say: the splits of the training data, which tables print, and what the weights
add to the rules that they read, and to few weights."""


def found(folder: Path) -> dict[str, str]:
    """The SHA-256 of every file of weights, by name."""
    files = sorted(
        path for path in folder.iterdir() if path.suffix in (".gguf", ".onnx", ".json")
    )
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def problems(folder: Path) -> list[str]:
    """What is wrong with the weights in a folder; nothing where all is well."""
    listed = dict(
        reversed(line.split()) for line in (folder / LIST).read_text().splitlines()
    )
    now = found(folder)
    lines = [f"{name}: not in {LIST}" for name in now if name not in listed]
    lines += [f"{name}: is missing" for name in listed if name not in now]
    lines += [
        f"{name}: another file than listed"
        for name in now
        if listed.get(name, now[name]) != now[name]
    ]
    for card in sorted({Path(name).with_suffix(".md").name for name in now}):
        text = ""
        if (folder / card).is_file():
            text = (folder / card).read_text(encoding="utf-8")
        if not text:
            lines.append(f"{card}: the card is missing")
            continue
        lines += [
            f"{card}: no line {line!r}" for line in CARD_LINES if line not in text
        ]
    size = sum((folder / name).stat().st_size for name in now)
    if size > MOST:
        lines.append(f"{size} bytes of weights, more than {MOST}")
    return lines


def main(arguments: list[str]) -> int:
    """Check or write the list. Returns the exit status."""
    if "--write" in arguments:
        lines = (f"{digest}  {name}\n" for name, digest in found(FOLDER).items())
        (FOLDER / LIST).write_text("".join(lines))
    wrong = problems(FOLDER)
    for name in found(FOLDER):
        sys.stdout.write(f"{(FOLDER / name).stat().st_size / 1e6:8.2f} MB  {name}\n")
    sys.stdout.writelines(f"{line}\n" for line in wrong)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
