"""What a file is that a command cannot take, and the command that does.

    describe_file(Path("log.csv"))    # "a table; `wayword plot --kind curve` draws training logs"

By the name, and for JSON by its fields: nothing else of the file is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from shlex import quote

_RUN = "run.json"
_CARD = "card.json"
OWN_NAMES = (_RUN, _CARD)
"""Names of the files that Wayword writes into each folder of a run or of the bench."""
_MOST = 2_000_000  # bytes of a JSON file that is opened for its fields

_PREDICTIONS = (
    "of predictions, `wayword score FILE --on DATASET` shows the metrics, and with --out makes a "
    "run"
)
_LOGS = "`wayword plot --kind curve` draws training logs"
_BY_ENDING: Sequence[tuple[tuple[str, ...], str]] = (
    ((".py",), "Python; `wayword run FILE` takes an agent, `--on FILE` a dataset"),
    (
        (".yaml", ".yml"),
        "YAML; `wayword run FILE` takes a recipe, `wayword task new FILE` a task, `--config FILE` "
        "settings",
    ),
    ((".csv", ".tsv"), f"a table; {_LOGS}"),
    ((".jsonl", ".jsonl.gz", ".ndjson"), f"lines of JSON; {_LOGS}; {_PREDICTIONS}"),
    ((".json", ".json.gz"), f"JSON; {_PREDICTIONS}"),
    ((".gguf", ".safetensors"), "weights of a model; `--model local:FILE` loads them"),
    ((".html", ".pdf", ".png", ".svg"), "a page or picture; open it in a browser"),
)
"""Endings of file names, what such a file is, and what takes it."""


def describe_file(path: Path) -> str:
    """Return what a file or folder is and which command takes it; empty if unknown."""
    if path.is_dir():
        return _describe_folder(path)
    if (path.parent / _RUN).is_file():
        return f"a file of the run {path.parent}; name that folder"
    if not path.is_file():
        return ""
    if path.name == _CARD or "tracks" in fields_of(path):
        return f"a card of the bench; `wayword bench card {quote(str(path))}` shows it"
    for endings, words in _BY_ENDING:
        if path.name.lower().endswith(endings):
            return words.replace("FILE", quote(str(path)))
    return ""


def _describe_folder(path: Path) -> str:
    """Return what a folder is, and the commands that take it."""
    if (path / _RUN).is_file():
        return (
            "a run folder; `wayword table` shows its scores, `wayword view` its pages"
        )
    # A card's runs are in its folder.
    if (path / _CARD).is_file():
        return "a folder of the bench; `wayword bench card` shows its card"
    if any(path.glob(f"*/{_RUN}")):
        return "a folder of runs; `wayword runs` lists them"
    return ""


def fields_of(path: Path) -> Sequence[str]:
    """Return the fields of a file with one JSON object; none for any other file."""
    from wayword.core.files import parsed

    with suppress(OSError, ValueError, RecursionError):
        if path.suffix == ".json" and path.stat().st_size <= _MOST:
            content = parsed(path.read_bytes())
            if isinstance(content, dict):
                return list(content)
    return ()


def but_is(path: Path) -> str:
    """Return ``; FILE is …`` for the end of an error, if anything is known of the file."""
    words = describe_file(path)
    return f"; it is {words}" if words else ""
