"""The agents of a run: one that plays all actors, or one for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from wayword.core.agent import Agent, Toolkit


@dataclass(frozen=True)
class AgentParts:
    """The class and checked settings of a plan's agent; ``others`` are the agents in ``actors``,
    which are the dataset's actors; empty if the plan names no actor."""

    cls: type[Agent]
    settings: Any
    name: str = ""
    others: Mapping[str, AgentParts] = field(default_factory=dict)
    actors: tuple[str, ...] = ()

    def playing(self) -> Iterator[AgentParts]:
        """Iterate over the agents that play an actor, the plan's ``agent`` first."""
        if not self.actors or set(self.actors) - set(self.others):
            yield self
        yield from self.others.values()

    @property
    def roles(self) -> list[str]:
        """The model roles of all agents, in order."""
        roles = chain.from_iterable(parts.cls.roles for parts in self.playing())
        return list(dict.fromkeys(roles))

    def make(self, toolkit: Toolkit, actor: str) -> Agent:
        """Create the agent of an actor for an episode. If a model role has the actor's name, it
        becomes the agent's main model."""
        parts = self.others.get(actor, self)
        model = toolkit.models.get(actor)
        if model is not None:
            toolkit = replace(toolkit, models={**toolkit.models, "main": model})
        return parts.cls(parts.settings, toolkit)
