"""The package for environment hubs; verifiers' runner has a file of its own."""

from __future__ import annotations

import importlib.util
from pathlib import Path

FOLDER = Path(__file__).parents[3] / "examples" / "environments"


def test_the_hub_package_is_installed_from_its_folder() -> None:
    """Installed by `make test-envs`, as the hub does; test_verifiers.py runs it by its name."""
    found = importlib.util.find_spec("wayword_env")
    assert found is not None
    assert found.origin is not None
    assert Path(found.origin).parent == FOLDER / "hub"
