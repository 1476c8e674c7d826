"""What MLflow is sent for names and values that it refuses."""

from __future__ import annotations

import math
import sys
from types import ModuleType
from typing import Any

import pytest

from wayword.runs.tracking import Tracker


class MLflow(ModuleType):
    """A stub that keeps the parameters and metrics it is sent."""

    def __init__(self) -> None:
        super().__init__("mlflow")
        self.parameters: dict[str, str] = {}
        self.metrics: dict[str, float] = {}

    def set_experiment(self, name: str) -> None: ...

    def start_run(self, **options: Any) -> None: ...

    def end_run(self) -> None: ...

    def log_params(self, values: dict[str, str]) -> None:
        self.parameters |= values

    def log_metrics(self, values: dict[str, float], step: int) -> None:
        self.metrics |= values


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("SR, of 3", "SR_ of 3"),
        ("成功", "__"),
        ("a%b", "a_b"),
        ("mean/sr", "mean/sr"),
        ("dev houses:dev", "dev houses/dev"),
        ("ne-3.0_m", "ne-3.0_m"),
    ],
)
def test_a_refused_sign_is_an_underscore(
    name: str, right: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = MLflow()
    monkeypatch.setitem(sys.modules, "mlflow", library)
    tracker = Tracker("mlflow:walks", "one", {"settings": "x" * 900}, print)
    tracker.log({name: 0.5, "ne": math.inf, "nan": math.nan}, 1)
    tracker.close()
    assert library.metrics == {right: 0.5}
    assert library.parameters == {"settings": "x" * 250}
