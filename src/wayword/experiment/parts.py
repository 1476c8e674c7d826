"""Names to parts: the agent, the dataset and the models a plan asks for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from wayword.core import registry
from wayword.core.agent import Agent, Toolkit
from wayword.core.dataset import Dataset
from wayword.core.errors import UsageError, suggest
from wayword.core.model import Model
from wayword.core.rollout import MakeAgent
from wayword.experiment.plan import Plan, data_folder
from wayword.models.wrapping.base import identity_of
from wayword.recording import Checksums
from wayword.settings import make


@dataclass(frozen=True, slots=True)
class AgentParts:
    """An agent's class and its checked settings."""

    cls: type[Agent]
    settings: Any

    def maker(self) -> MakeAgent:
        """Builds one agent an actor and episode."""

        def build(toolkit: Toolkit, actor: str) -> Agent:
            made: Agent = self.cls(self.settings, toolkit)  # type: ignore[call-arg]
            return made

        return build


def open_dataset(plan: Plan) -> Dataset:
    """The dataset and split of ``plan.on``. Raises ``UsageError``, ``DataError``."""
    cls = registry.load("dataset", plan.dataset_name)
    settings = make(cls.Settings, plan.group("dataset"), plan.dataset_name)
    split = plan.split or cls.splits[0]
    dataset: Dataset = cls(split, data_folder(plan.data), settings)
    return dataset


def split_name(plan: Plan, dataset: Dataset) -> str:
    """``houses`` -> ``houses:test``: the name with the default split written out."""
    return f"{plan.dataset_name}:{plan.split or dataset.splits[0]}"


def open_agent(plan: Plan, dataset: Dataset) -> AgentParts:
    """The agent's class and settings. Raises ``UsageError`` where it does not fit the dataset."""
    cls = registry.load("agent", plan.agent)
    if cls.families and dataset.family not in cls.families:
        fits = ", ".join(sorted(cls.families))
        raise UsageError(
            f"{plan.agent} acts in {fits} worlds, and {plan.dataset_name} is {dataset.family}"
        )
    if cls.needs_model and not plan.model:
        raise UsageError(f"{plan.agent} asks a language model; add --model local:smollm2")
    return AgentParts(cls, make(cls.Settings, plan.agent_settings(), plan.agent))


def model_choices(plan: Plan, agent: AgentParts) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Role -> model name and its settings.

    ``main`` is ``--model`` with the group ``model``; another role is ``models.ROLE=NAME``, which
    shares the main model's settings where it names the same model, or ``models.ROLE.name=NAME``
    with settings of its own beside it. Raises ``UsageError`` for a role the agent does not have.
    """
    chosen: dict[str, tuple[str, Mapping[str, Any]]] = {}
    if plan.model:
        chosen["main"] = plan.model, plan.group("model")
    known = list(getattr(agent.cls, "roles", ()))
    for role, given in plan.group("models").items():
        if role not in known:
            raise UsageError(f"{plan.agent} has no model role {role!r}; {suggest(role, known)}")
        own = dict(given) if isinstance(given, Mapping) else {"name": given}
        name = str(own.pop("name", plan.model))
        chosen[role] = name, own or (plan.group("model") if name == plan.model else {})
    return chosen


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
    return {
        "agent": plan.agent,
        "settings": asdict(agent.settings),
        "prompts_checksum": _prompts_checksum(agent.settings),
        "agent_checksum": _file_checksum(plan.agent),
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
    }


def _file_checksum(agent: str) -> str:
    """An agent of one's own is another agent once its file has changed."""
    return Checksums().of(Path(agent)) if agent.endswith(".py") else ""


def _identity(model: Model) -> str:
    """What decides about a model's answers. A server on this machine may change its port."""
    return re.sub(r"//(?:127\.0\.0\.1|localhost|\[::1\]):\d+", "//loopback", identity_of(model))


def _prompts_checksum(settings: Any) -> str:
    """A run with prompts of one's own is another run once a text in that folder has changed."""
    folder = getattr(settings, "prompts", "")
    texts = {path.name: path for path in sorted(Path(folder).glob("*.txt"))} if folder else {}
    return Checksums().combined(texts)


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
