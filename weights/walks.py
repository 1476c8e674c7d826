"""Files of labeled walks, and the splits that must not be trained on."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from wayword.core.errors import UsageError
from wayword.training.examples import Example, TextChoice


def refuse_test(on: str, area: str = "") -> None:
    """Raise ``UsageError`` for a split that must not be trained on."""
    name, _, split = on.partition(":")
    if "train" in split or (
        name == "map2seq" and split.startswith("seen_") and area == "seen"
    ):
        return
    raise UsageError(
        f"{on} is not a training split; train on {name}:train, or on map2seq:seen_dev and "
        "map2seq:seen_test with area: seen"
    )


def save(path: Path, examples: Iterable[Example]) -> None:
    """Write examples as JSON lines; the file is replaced atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial_file = path.with_name(f".{path.name}.new")
    with partial_file.open("w", encoding="utf-8") as file:
        file.writelines(
            json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in examples
        )
    os.replace(partial_file, path)


def read(path: Path) -> list[Example]:
    """Examples as :func:`save` wrote them."""
    examples = []
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        choices = tuple(TextChoice(**choice) for choice in record.pop("choices"))
        examples.append(Example(**record, choices=choices))
    return examples
