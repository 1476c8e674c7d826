"""Names to parts: the dataset a plan asks for, and what makes a run the run it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from wayword.core import registry
from wayword.core.dataset import Dataset
from wayword.core.model import Model
from wayword.experiment.cast import AgentParts, file_checksum
from wayword.experiment.plan import Plan, data_folder
from wayword.models.wrapping.base import identity_of
from wayword.settings import make


def open_dataset(plan: Plan) -> Dataset:
    """The dataset and split of ``plan.on``. Raises ``UsageError``, ``DataError``."""
    cls = registry.load("dataset", plan.dataset_name)
    settings = make(cls.Settings, plan.group("dataset"), plan.dataset_name)
    split = plan.split or cls.splits[0]
    dataset: Dataset = cls(split, data_folder(plan.data), settings)
    return dataset


def omitted(dataset: Dataset) -> Mapping[str, int]:
    """What of the published files is no episode here, by cause, where the dataset counts it."""
    found = getattr(dataset, "omissions", {})
    return {str(cause).replace("_", " "): int(count) for cause, count in found.items() if count}


def split_name(plan: Plan, dataset: Dataset) -> str:
    """``houses`` -> ``houses:test``: the name with the default split written out."""
    return f"{plan.dataset_name}:{plan.split or dataset.splits[0]}"


def identity(
    plan: Plan,
    dataset: Dataset,
    agent: AgentParts,
    models: Mapping[str, Model],
    checksum: str,
) -> dict[str, Any]:
    """What makes a run the run it is: two runs that agree here would do the same.

    How it is carried out (concurrency, budgets, cache, how many episodes) is left out, so that a
    run can be continued faster, further or with more money.
    """
    cls: Any = type(dataset)
    data_settings = make(cls.Settings, plan.group("dataset"), plan.dataset_name)
    own_file = file_checksum(plan.dataset_name)
    return {
        **agent.identity(),
        "dataset": split_name(plan, dataset),
        "dataset_settings": asdict(data_settings),
        "data_checksum": checksum,
        "models": {role: model.name for role, model in models.items()},
        "model_identity": {role: _identity(model) for role, model in models.items()},
        "seed": plan.seed,
        "max_steps": plan.max_steps or dataset.max_steps,
        "wayword": version("wayword"),
        "shuffle": plan.shuffle,
        "shard": plan.shard,
        **({"ask": plan.ask} if plan.ask else {}),
        **({"dataset_checksum": own_file} if own_file else {}),
    }


def _identity(model: Model) -> str:
    """What decides about a model's answers. A server on this machine may change its port."""
    return re.sub(r"//(?:127\.0\.0\.1|localhost|\[::1\]):\d+", "//loopback", identity_of(model))


def versions() -> Mapping[str, str]:
    """Versions of Wayword, Python and the packages a result may depend on."""
    import platform

    found = {"python": platform.python_version()}
    for name in ("wayword", "numpy", "scipy", "openai", "xllamacpp"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
