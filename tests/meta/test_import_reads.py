"""Importing the package reads modules, and no other file of the package."""

from __future__ import annotations

import subprocess
import sys

IMPORT_EVERYTHING = """
import importlib, pkgutil, sys

opened = []

def record(event, arguments):
    if event == "open" and isinstance(arguments[0], str):
        opened.append(arguments[0])

sys.addaudithook(record)
import wayword

package = wayword.__path__[0]
for module in pkgutil.walk_packages(wayword.__path__, "wayword."):
    if module.name.endswith("__main__"):
        continue  # it runs the command
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError:
        pass  # a door to a library that is an extra
for path in opened:
    if path.startswith(package) and ".py" not in path:
        print(path)
"""


def test_no_data_file_is_opened_when_modules_are_imported() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_EVERYTHING],
        capture_output=True,
        text=True,
        check=True,
    )
    opened = done.stdout.split()
    assert opened == [], f"data files opened at import: {opened}"
