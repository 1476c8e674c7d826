"""Continue a recorded episode from one of its steps, by any agent or person, as a new run.

    wayword run navgpt --model openai:NAME --continue runs/first:5593_0:4
    wayword play --continue runs/first:5593_0:4

The steps before the fourth are taken again as they were recorded; from there on the new agent
decides. The dataset, its settings, the seed and the most steps are the recorded run's.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from wayword.core.errors import UsageError
from wayword.core.recording import Continued
from wayword.core.trajectory import Step
from wayword.runs.parts import AgentParts
from wayword.runs.plan import Plan
from wayword.runs.record import RecordedRun, RunFolder, is_run
from wayword.settings import merge

FORM = "write RUN:EPISODE:STEP, for example runs/first:5593_0:4"


@dataclass(frozen=True, slots=True)
class Place:
    """A step of a recorded episode, from 1: the first one that is decided anew."""

    run: Path
    episode: str
    step: int

    @classmethod
    def read(cls, text: str) -> Place:
        """``runs/first:5593_0:4``. An episode's id may hold colons; the folder ends where a run
        folder is. Raises ``UsageError``."""
        before, _, step = text.rpartition(":")
        if not step.isdecimal() or not 1 <= int(step) < 10**6:
            raise UsageError(f"--continue {text}: {FORM}")
        parts = before.split(":")
        for end in range(1, len(parts)):
            folder = Path(":".join(parts[:end]))
            if is_run(folder):
                return cls(folder, ":".join(parts[end:]), int(step))
        raise UsageError(f"--continue {text}: there is no run folder; {FORM}")

    def __str__(self) -> str:
        return f"{self.run}:{self.episode}:{self.step}"


@dataclass(frozen=True, slots=True)
class Continuation:
    """Where a run goes on: the recorded steps, and the run that they are of."""

    place: Place
    run: RecordedRun
    steps: tuple[Step, ...]

    @classmethod
    def open(cls, text: str) -> Continuation:
        """Raises ``UsageError`` for an episode or a step that there is not."""
        place = Place.read(text)
        run = RunFolder.read(place.run)
        told = next((r.trajectory for r in run.records() if r.episode_id == place.episode), None)
        if told is None:
            raise UsageError(f"--continue: {place.run} has no finished episode {place.episode!r}")
        if place.step > len(told.steps) + 1:
            raise UsageError(
                f"--continue: {place.episode} has {len(told.steps)} steps; there is no step "
                f"{place.step} to go on from"
            )
        return cls(place, run, tuple(told.steps[: place.step - 1]))

    @property
    def _identity(self) -> Mapping[str, Any]:
        return self.run.config["identity"]  # type: ignore[no-any-return]

    def plan(self, plan: Plan) -> Plan:
        """The plan on the recorded run's episode, data and seed."""
        own = {"dataset": dict(self._identity.get("dataset_settings") or {})}
        return replace(
            plan,
            on=str(self._identity["dataset"]),
            settings=merge(plan.settings, own),
            episodes=(self.place.episode,),
            episode="",
            limit=None,
            shuffle=None,
            shard="",
            seed=int(self._identity.get("seed") or 0),
            max_steps=plan.max_steps or self._identity.get("max_steps"),
        )

    def before(self, agent: AgentParts, actors: Sequence[str]) -> dict[str, Continued]:
        """The steps to take again, by their episode's id. An actor whose agent took its steps
        itself, with the same settings, hears the recorded answers."""
        own, others = self._identity, self._identity.get("actors") or {}
        same = [
            actor
            for actor in actors
            if _who(others.get(actor, own)) == _who(agent.others.get(actor, agent).identity())
        ]
        return {self.place.episode: Continued(self.steps, frozenset(same))}

    def marked(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """A run's config that says from where it goes on: in its identity, and as a caveat."""
        told = json.dumps([_taken(step) for step in self.steps])
        own = {
            "episode": self.place.episode,
            "step": self.place.step,
            "before": hashlib.sha256(told.encode()).hexdigest()[:16],
        }
        return {
            **config,
            "identity": {**config["identity"], "continues": own},
            "caveats": [*config["caveats"], self._caveat],
        }

    @property
    def _caveat(self) -> str:
        """What every figure of the new run rests on."""
        by, place = self._identity.get("agent", ""), self.place
        if place.step == 1:
            return f"continues {place.run.name}: episode {place.episode} from the start"
        return (
            f"continues {place.run.name}: steps 1 to {place.step - 1} of episode {place.episode} "
            f"were taken by {by}"
        )


def _who(identity: Mapping[str, Any]) -> str:
    """What of an identity says which agent it is, as text."""
    keys = ("agent", "settings", "agent_checksum", "prompts_checksum")
    return json.dumps([identity.get(key) for key in keys], sort_keys=True, default=str)


def _taken(step: Step) -> list[str]:
    """What of a step decides how the world goes on."""
    return [step.actor, str(getattr(step.decision, "action", "")), step.feedback.status]
