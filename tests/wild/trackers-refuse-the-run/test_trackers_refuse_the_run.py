"""Trackers that do not open the run."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

from wayword.core.errors import UsageError
from wayword.runs.tracking import open_tracker

DELETED = "run a/b/c was previously created and deleted; try a new run name"
OPEN = "Run with UUID 123 is already active.\nTo start a new run, end the current run"


def refusing(name: str, words: str) -> ModuleType:
    def refuse(**options: Any) -> None:
        raise RuntimeError(words)

    library = ModuleType(name)
    library.__dict__.update(
        init=refuse,
        start_run=refuse,
        set_experiment=lambda project: None,
        search_runs=lambda **options: [],
    )
    return library


@pytest.mark.parametrize(("kind", "words"), [("wandb", DELETED), ("mlflow", OPEN)])
def test_the_line_says_how_to_play_without_it(
    kind: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, kind, refusing(kind, words))
    with pytest.raises(UsageError) as error:
        open_tracker(f"{kind}:project", "run", {}, print, "abc")
    line = str(error.value)
    assert words.split(".")[0].split(";")[0] in line
    assert line.endswith("; to play without the tracker, leave --track out")
    assert "\n" not in line
