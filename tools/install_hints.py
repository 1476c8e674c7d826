"""Run every install hint of README, docs and ``wayword doctor`` in a fresh environment.

    python tools/install_hints.py            # make test-install
    python tools/install_hints.py plot ros   # only hints with these extras

The tree is cloned as committed, so that nothing of this checkout's environment helps. A hint
installs into an environment of its own; then each extra's module must be found there. Extras with
networks of gigabytes are resolved, not downloaded, unless ``--heavy`` is given.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from wayword.runs.machine import EXTRAS

ROOT = Path(__file__).parents[1]
UV = ROOT / ".uv" / "bin" / "uv"
HEAVY = frozenset({"hf", "inspect", "ray", "train", "trl", "verifiers", "vision"})
"""Extras that download torch or hundreds of packages."""
PIP = re.compile(r"pip install ('[^']+'|[^\s`#),;]+)")
MAKE = re.compile(r"make extra-([a-z]+)")
PLACEHOLDERS = ("NAME", "wayword==")
"""Parts of hints that stand for something, or that need a release."""


def hints() -> dict[str, list[str]]:
    """Return what pip is asked to install, with the places that say so."""
    found: dict[str, list[str]] = {}
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    for page in pages:
        if page.name == "LOG.md":
            continue
        text = page.read_text(encoding="utf-8")
        targets = [match.strip("'") for match in PIP.findall(text)]
        targets += [f".[{extra}]" for extra in MAKE.findall(text)]
        for target in targets:
            if not any(each in target for each in PLACEHOLDERS):
                found.setdefault(target, []).append(page.name)
    for extra in EXTRAS:
        found.setdefault(f".[{extra}]", []).append("wayword doctor")
    # Editable installs of examples are named with their option.
    found.pop("-e", None)
    return found


def extras_of(target: str) -> list[str]:
    """Return the extras that a hint names.

    >>> extras_of(".[plot,ros]")
    ['plot', 'ros']
    """
    match = re.fullmatch(r"\.\[(.+)\]", target)
    return match[1].split(",") if match else []


def problems(target: str, clone: Path, top: Path, heavy: bool) -> Iterator[str]:
    """Install a hint into a fresh environment, and yield what is wrong with the result."""
    environment = top / re.sub(r"\W+", "-", target)
    python = environment / "bin" / "python"
    run([str(UV), "venv", "--quiet", str(environment)], clone)
    extras = extras_of(target)
    install = [str(UV), "pip", "install", "--quiet", "--python", str(python)]
    is_resolved_only = not heavy and not HEAVY.isdisjoint(extras)
    if is_resolved_only:
        install.append("--dry-run")
    done = run([*install, target], clone)
    if done.returncode:
        yield f"{target}: {done.stderr.strip()[-400:]}"
        return
    if is_resolved_only or not target.startswith("."):
        return
    for extra in extras:
        module = EXTRAS[extra][1] if extra in EXTRAS else extra
        found = run([str(python), "-c", f"import {module}"], top)
        if found.returncode:
            yield f"{target}: {module} cannot be imported: {found.stderr.strip()[-200:]}"
    done = run([str(environment / "bin" / "wayword"), "doctor"], top)
    if done.returncode:
        yield f"{target}: wayword doctor: {done.stderr.strip()[-200:]}"


def run(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False
    )


def main() -> int:
    """Check all hints, print one line each, and return 1 if any failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("extras", nargs="*")
    parser.add_argument("--heavy", action="store_true")
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        clone = top / "clone"
        run(["git", "clone", "--quiet", str(ROOT), str(clone)], top)
        for target, places in sorted(hints().items()):
            if options.extras and set(options.extras).isdisjoint(extras_of(target)):
                continue
            wrong = list(problems(target, clone, top, options.heavy))
            failed += len(wrong)
            mark = "--" if wrong else "ok"
            where = ", ".join(dict.fromkeys(places))
            print(f"{mark}  pip install {target!r}  ({where})", flush=True)
            for line in wrong:
                print(f"      {line}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
