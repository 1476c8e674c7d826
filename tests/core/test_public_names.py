"""Public names: what extensions import stays where it is, and loads only when it is used."""

from __future__ import annotations

import subprocess
import sys

import wayword
from wayword import core


def test_every_public_name_of_core_is_there() -> None:
    for name in core.__all__:
        assert getattr(core, name) is not None, name
    assert set(dir(core)) == set(core.__all__)


def test_every_public_name_of_the_package_is_there() -> None:
    for name in wayword.__all__:
        assert getattr(wayword, name) is not None, name
    assert wayword.Agent is core.Agent
    assert callable(wayword.envs.make)


def test_an_unknown_name_is_an_attribute_error() -> None:
    for module in (wayword, core):
        assert getattr(module, "Agnet", None) is None


def test_import_loads_no_base_class() -> None:
    code = "import sys, wayword; print('wayword.core.agent' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "False"
