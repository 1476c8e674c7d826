"""Weights for transformers: a folder, or a name on the model hub, which may be out of reach."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from wayword.core.errors import UsageError
from wayword.core.visible import single_line

# Seconds for one question to the hub. The library's own loader retries for minutes.
HUB_SECONDS = 10.0


def folder_of(weights: str) -> Path | None:
    """Return the folder of weights; None for a name on the hub. Raises ``UsageError`` for a folder
    that does not exist."""
    folder = Path(weights).expanduser()
    if folder.is_dir():
        return folder
    # Names on the hub have one slash at most, and none in front.
    if weights.startswith(("/", ".", "~")) or weights.count("/") > 1:
        raise UsageError("no such folder")
    return None


@lru_cache(maxsize=16)
def find_weights(weights: str, revision: str = "main") -> tuple[str, dict[str, bool]]:
    """Return what ``from_pretrained`` loads, and options for it: without the hub, it reads the
    weights that were downloaded earlier.

    Raises ``UsageError`` for a folder that does not exist, and for weights that are neither on this
    machine nor on a hub that can be reached.
    """
    if folder := folder_of(weights):
        return str(folder), {}
    hub: Any = import_module("huggingface_hub")
    try:
        hub.HfApi().model_info(weights, revision=revision, timeout=HUB_SECONDS)
    # The hub has answered: the loader names what is wrong with the weights.
    except hub.errors.HfHubHTTPError:
        return weights, {}
    except Exception as error:
        if isinstance(
            hub.try_to_load_from_cache(weights, "config.json", revision=revision), str
        ):
            return weights, {"local_files_only": True}
        problem = single_line(error, 100)
        raise UsageError(
            f"not on this machine, and the model hub cannot be reached ({problem}); where there "
            f"is a network: `hf download {weights}`, or copy the folder that it prints"
        ) from error
    return weights, {}
