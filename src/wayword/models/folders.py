"""Where weights and cached answers live on this machine."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """``$WAYWORD_CACHE``, else the user's cache folder. What lies there can be made again."""
    named = os.environ.get("WAYWORD_CACHE")
    if named:
        return Path(named)
    import platformdirs

    return Path(platformdirs.user_cache_path("wayword"))


def weights_folder() -> Path:
    """``$WAYWORD_MODELS``, else ``models`` in the user's data folder."""
    named = os.environ.get("WAYWORD_MODELS")
    if named:
        return Path(named)
    import platformdirs

    return Path(platformdirs.user_data_path("wayword")) / "models"
