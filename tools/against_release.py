"""Against the released code: the prompts of an agent next to those that the authors' code sends.

    git clone https://github.com/GengzeZhou/NavGPT
    python tools/against_release.py navgpt NavGPT --data /path/to/data

Ten episodes are played with the prompts of the clone and scripted answers. The released code then
gets the same answers in a process of its own, with models and heavy packages replaced by
stand-ins, and its prompts are compared call by call. Differences that are meant have names
(``differences`` in ``agents/released.yaml``, listed in docs/reference/released.md); the first other
difference of each call is printed, and the exit status is 1.

Lengths and SHA-256 of both streams are facts in ``tools/releases/facts.json``; ``--write`` updates
them. They contain no text of the releases: a test plays the same games with texts that consist of
slots alone (``slots``), so that it needs no clone.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "releases"
sys.path.insert(0, str(Path(__file__).parents[1]))

from tools.releases import games  # noqa: E402 - the folder next to this file
from tools.releases.games import SYSTEMS, Call, Game, Stream  # noqa: E402

from wayword.agents.pages import SLOT  # noqa: E402
from wayword.agents.released import SOURCE, differences, import_prompts  # noqa: E402

FACTS = FOLDER / "facts.json"
REACT_FORM = "Thought: why\nAct: one action"
# Prompts that are read as the form of an answer, so that they have labels
FORMS = {"act": "Act: one action", "react": REACT_FORM, "react_emmem": REACT_FORM}
CONTEXT = 60  # characters of a difference that are printed


@dataclass(frozen=True, slots=True)
class Comparison:
    """Named differences with the number of calls that have them, and lines on all others."""

    named: Mapping[str, int]
    unnamed: Sequence[str]


def released_streams(
    system: str, clone: Path, data: Path, played: Sequence[Game]
) -> list[Stream]:
    """The prompts of the released code for the games, from a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        given = SYSTEMS[system].released_input(data, Path(folder), played)
        given["clone"] = str(clone.resolve())
        done = subprocess.run(
            [sys.executable, str(FOLDER / f"{system}.py")],
            input=json.dumps(given),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            cwd=folder,
        )
    streams: list[Stream] = json.loads(done.stdout)
    return streams


def flat(call: Call) -> str:
    """A call as one text: a chat of several messages with their roles."""
    if isinstance(call, str):
        return call
    if len(call) == 1:
        return call[0]["content"]
    return "\n".join(f"<{each['role']}>\n{each['content']}" for each in call)


def compare(
    system: str, ours: Sequence[Stream], theirs: Sequence[Stream]
) -> Comparison:
    """Compare two lists of streams call by call."""
    named: Counter[str] = Counter()
    unnamed: dict[str, str] = {}
    pairs = zip(ours, theirs, strict=True)
    for number, (our_stream, their_stream) in enumerate(pairs, 1):
        if len(our_stream) != len(their_stream):
            count = f"{len(our_stream)} calls, {len(their_stream)} in the release"
            unnamed[f"{count} in episode {number}"] = ""
        calls = zip(our_stream, their_stream, strict=False)
        for step, (our_call, their_call) in enumerate(calls, 1):
            our_text = flat(our_call)
            their_text = flat(their_call)
            for name, level in SYSTEMS[system].differences.items():
                if our_text == their_text:
                    break
                before = our_text, their_text
                our_text, their_text = level(our_text, their_text)
                named[name] += before != (our_text, their_text)
            if our_text != their_text:
                # The same difference in later calls is not repeated.
                place = f"episode {number}, call {step}"
                unnamed.setdefault(first(our_text, their_text), place)
    return Comparison(named, [f"{where}: {what}" for what, where in unnamed.items()])


def first(ours: str, theirs: str) -> str:
    """The first difference of two texts."""
    at = next(
        (n for n, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b),
        min(len(ours), len(theirs)),
    )
    begin = max(0, at - CONTEXT)
    end = at + CONTEXT
    return f"{ours[begin:end]!r}, in the release {theirs[begin:end]!r}"


def checksum(streams: Sequence[Stream]) -> dict[str, Any]:
    """Number of calls, characters and SHA-256 of the streams."""
    calls = [flat(call) for stream in streams for call in stream]
    content = "\0".join(calls).encode()
    return {
        "calls": len(calls),
        "characters": sum(map(len, calls)),
        "sha256": hashlib.sha256(content).hexdigest(),
    }


def slots_of(prompts: Path) -> dict[str, list[str]]:
    """The slots of each imported text, in order; a text without words has no entry None."""
    slots = {}
    for path in sorted(prompts.rglob("*.txt")):
        text = path.read_text().strip("\n")
        name = path.relative_to(prompts).with_suffix("").as_posix()
        slots[name] = SLOT.findall(text) if text else ["-"]
    return slots


def write_slots(slots: Mapping[str, Sequence[str]], folder: Path) -> None:
    """Write texts that consist of their name and slots; ``-`` stands for an empty text."""
    for name, names in slots.items():
        path = folder / f"{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = " ".join([f"[{name}]", *(f"{{{slot}}}" for slot in names)])
        if list(names) == ["-"]:
            text = ""
        path.write_text(f"{FORMS.get(path.stem, text)}\n")


def slot_facts(system: str, data: Path, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Checksum of our stream with texts of slots alone, which needs no clone."""
    with tempfile.TemporaryDirectory() as folder:
        write_slots(facts["slots"], Path(folder))
        return checksum(streams_of(asyncio.run(games.play(system, data, Path(folder)))))


def streams_of(played: Sequence[Game]) -> list[Stream]:
    return [game.calls for game in played]


def main() -> int:
    """Print differences and compare with the facts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("system", choices=list(SYSTEMS))
    parser.add_argument("clone", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--write", action="store_true", help="write the facts")
    given = parser.parse_args()
    system = given.system
    with tempfile.TemporaryDirectory() as folder:
        prompts = Path(folder) / "prompts"
        games.import_all(system, given.clone, prompts, import_prompts)
        played = asyncio.run(games.play(system, given.data, prompts))
        slots = slots_of(prompts)
        sources = [json.loads(path.read_text()) for path in prompts.rglob(SOURCE)]
    released = released_streams(system, given.clone, given.data, played)
    result = compare(system, streams_of(played), released)
    facts: dict[str, Any] = {
        "files": {name: sha for each in sources for name, sha in each["files"].items()},
        "release": checksum(released),
        "ours": checksum(streams_of(played)),
        "slots": slots,
    }
    facts["of_slots"] = slot_facts(system, given.data, facts)
    calls = facts["ours"]["calls"]
    print(f"{system}: {len(played)} episodes, {calls} calls")
    reasons = differences(system)
    for name, count in result.named.items():
        print(f"  {name} ({count} calls): {reasons[name]}")
    for line in result.unnamed:
        print(f"  {line}")
    recorded = json.loads(FACTS.read_text()) if FACTS.is_file() else {}
    if given.write:
        recorded[system] = facts
        FACTS.write_text(json.dumps(recorded, indent=1, sort_keys=True) + "\n")
    changed = [
        key
        for key, value in facts.items()
        if recorded.get(system, {}).get(key) != value
    ]
    for key in changed:
        print(f"  {key}: not as in {FACTS.name}")
    if not result.unnamed and not changed:
        print("  no other difference; both streams as recorded")
    return int(bool(result.unnamed or changed))


if __name__ == "__main__":
    sys.exit(main())
