"""Files broken somehow: a value gone or odd, a bit flipped, the end or everything missing."""

from __future__ import annotations

import gzip
import json
import random
from copy import deepcopy
from pathlib import Path
from typing import Any

ODD: list[Any] = [
    None, True, -1, 0, 10**30, 1e308, float("nan"), float("inf"), "", "x" * 5000, "\ud800", [], {},
    [[]], [None], {"": 0}, "../../etc/passwd", -0.5,
]  # fmt: skip


def mutate(path: Path, rng: random.Random) -> str:
    """Break the file somehow, and say how."""
    zipped = path.suffix == ".gz"
    raw = path.read_bytes()
    path.unlink()  # the copy may be read-only
    way = rng.choice(
        ["value", "value", "value", "cut", "flip", "zeros", "empty", "zip"]
    )
    if way == "zip":
        path.write_bytes(
            raw[: rng.randrange(len(raw))] if zipped else gzip.compress(raw, 1)
        )
        return way
    text = gzip.decompress(raw) if zipped else raw
    if way == "value":
        lines = text.split(b"\n")
        at = min(int(rng.expovariate(0.5)), len(lines) - 1)
        try:
            tree = json.loads(
                lines[at] if len(lines) > 1 and lines[1][:1] == b"{" else text
            )
        except ValueError:
            way = "flip"
        else:
            way += f" {_change(tree, rng)}"
            changed = json.dumps(tree).encode(errors="surrogatepass")
            is_full = len(lines) == 1 or lines[1][:1] != b"{"
            if is_full:
                text = changed
            else:
                text = b"\n".join([*lines[:at], changed, *lines[at + 1 :]])
    if way == "cut":
        text = text[: rng.randrange(len(text) + 1)]
    if way == "flip" and text:
        at = rng.randrange(len(text))
        text = text[:at] + bytes([rng.randrange(256)]) + text[at + 1 :]
    if way == "zeros":
        text = b"\0" * 4096 + text[4096:]
    if way == "empty":
        text = rng.choice([b"", b"[]", b"{}", b"null", b"\n"])
    path.write_bytes(gzip.compress(text, 1) if zipped else text)
    return way


def _change(tree: Any, rng: random.Random) -> str:
    """Make a value of the tree odd or take it away, most often near the beginning of a list."""
    where: list[Any] = []
    while True:
        if isinstance(tree, dict) and tree:
            key: Any = rng.choice(list(tree))
        elif isinstance(tree, list) and tree:
            key = min(int(rng.expovariate(0.5)), len(tree) - 1)
        else:
            return "nothing"
        where.append(key)
        inside = tree[key]
        if isinstance(inside, (dict, list)) and inside and rng.random() < 0.85:
            tree = inside
        elif rng.random() < 0.35:
            del tree[key]
            return f"{where} gone"
        else:
            tree[key] = deepcopy(rng.choice(ODD))
            return f"{where} = {tree[key]!r:.60}"
