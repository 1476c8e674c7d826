"""Names to parts: the agent, the dataset and the models a plan asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from wayword.core import registry
from wayword.core.agent import Agent, Toolkit
from wayword.core.dataset import Dataset
from wayword.core.errors import UsageError
from wayword.core.rollout import MakeAgent
from wayword.experiment.plan import Plan, data_folder
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


def model_specs(plan: Plan) -> dict[str, str]:
    """Role -> model name: ``main`` from ``--model``, others from ``--set models.ROLE=NAME``."""
    specs = {role: str(spec) for role, spec in plan.group("models").items()}
    return {"main": plan.model, **specs} if plan.model else specs


def identity(plan: Plan, dataset: Dataset, agent: AgentParts, checksum: str) -> dict[str, Any]:
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
        "dataset": split_name(plan, dataset),
        "dataset_settings": asdict(data_settings),
        "data_checksum": checksum,
        "models": model_specs(plan),
        "model_settings": dict(plan.group("model")),
        "seed": plan.seed,
        "max_steps": plan.max_steps or dataset.max_steps,
        "shuffle": plan.shuffle,
        "shard": plan.shard,
    }


def _prompts_checksum(settings: Any) -> str:
    """A run with prompts of one's own is another run once a text in that folder has changed."""
    folder = getattr(settings, "prompts", "")
    texts = {path.name: path for path in sorted(Path(folder).glob("*.txt"))} if folder else {}
    return Checksums().combined(texts)


def versions() -> Mapping[str, str]:
    """Versions of Wayword, Python and the packages a result may depend on."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": platform.python_version()}
    for name in ("wayword", "numpy", "scipy", "openai", "xllamacpp"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
