"""The trained weights in the package: checks them against their list, or writes the list anew.

python tools/weights.py            check; what `make weights` runs
python tools/weights.py --write    after a file was replaced on purpose
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "src" / "wayword" / "weights"
LIST = "SHA256SUMS"
MOST = 60_000_000
"""Bytes that all weights together may take."""


def found(folder: Path) -> dict[str, str]:
    """The SHA-256 of every file of weights, by name."""
    files = sorted(path for path in folder.iterdir() if path.suffix in (".gguf", ".onnx", ".json"))
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def problems(folder: Path) -> list[str]:
    """What is wrong with the weights in a folder; nothing where all is well."""
    listed = dict(reversed(line.split()) for line in (folder / LIST).read_text().splitlines())
    now = found(folder)
    said = [f"{name}: not in {LIST}" for name in now if name not in listed]
    said += [f"{name}: is missing" for name in listed if name not in now]
    said += [
        f"{name}: another file than listed"
        for name in now
        if listed.get(name, now[name]) != now[name]
    ]
    networks = [name for name in now if not name.endswith(".json")]
    cards = [Path(name).with_suffix(".md").name for name in networks]
    said += [f"{card}: the card is missing" for card in cards if not (folder / card).is_file()]
    size = sum((folder / name).stat().st_size for name in now)
    return said + ([f"{size} bytes of weights, more than {MOST}"] if size > MOST else [])


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
