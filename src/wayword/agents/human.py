"""Human: a person at the terminal plays an actor, in any world.

    wayword play --on household

The person is told what a strategy would be told, and what is legal now; a slip of the keyboard
costs no step. ``quit`` or the end of the input ends the run in order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from wayword.agents.person import Left, hear, person_of
from wayword.agents.strategies.rules import instruction, task_rules
from wayword.agents.typed import listing, read
from wayword.core.action import Action, Menu
from wayword.core.agent import Toolkit
from wayword.core.decision import Decision, Rejection
from wayword.core.episode import Episode
from wayword.core.errors import UsageError
from wayword.core.world import Feedback, Observation
from wayword.verbalize import anything

LEAVING = ("quit", "exit")


@dataclass(frozen=True, slots=True)
class HumanSettings:
    """``listed``: choices of a verb that are shown each turn; ``?`` always shows all."""

    listed: int = 6

    def __post_init__(self) -> None:
        if self.listed < 1:
            raise UsageError("human: listed is at least 1")


class Human:
    """A person at the terminal. Numbers, whole actions and abbreviations are understood.

    ``toolkit.shared["person"]`` may hold another :class:`~wayword.agents.person.Person`: a script,
    in tests. Several actors may be people; they share the keyboard.
    """

    Settings: ClassVar[type[HumanSettings]] = HumanSettings
    families: ClassVar[frozenset[str]] = frozenset()
    needs_model: ClassVar[bool] = False
    needs_person: ClassVar[bool] = True

    def __init__(self, settings: HumanSettings, toolkit: Toolkit) -> None:
        self._settings, self._toolkit = settings, toolkit
        self._person = person_of(toolkit.shared)
        self._episode: Episode | None = None
        self._voice = anything.PLAIN
        self._turn = 0

    async def begin(self, episode: Episode) -> None:
        self._episode, self._turn = episode, 0

    async def act(self, observation: Observation, menu: Menu) -> Decision | Rejection:
        self._voice = anything.voice(observation)
        if self._turn == 0:
            self._open(observation)
        self._turn += 1
        self._show(observation, menu)
        while True:
            words = await hear(self._person, "> ")
            if words.lower() in LEAVING:
                raise Left("the player left")
            if words.startswith("?"):
                verb = words[1:].strip()
                self._person.tell("\n".join(listing(menu, verb=verb)) or f"nothing with {verb}")
                continue
            found = read(words, menu)
            if isinstance(found, Action):
                return Decision(found)
            self._person.tell(found, "warning")

    def told(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        words = anything.feedback(feedback, self._voice)
        if words:
            self._person.tell(words, "good" if feedback.ok else "warning")

    def _open(self, observation: Observation) -> None:
        """The task, and who is who."""
        episode = self._episode
        if episode is None:
            raise UsageError("an agent must begin an episode before it acts")
        actor = _actor(observation, episode)
        others = [name for name in episode.actors if name != actor]
        who = f", you are {actor}, with {', '.join(others)}" if others else ""
        self._person.tell(f"\nEpisode {episode.id}{who}", "dim")
        self._person.tell(instruction(episode, actor), "title")
        if rules := task_rules(episode, actor):
            self._person.tell(rules)
        self._person.tell("? lists all actions, quit leaves; beginnings of words will do", "dim")

    def _show(self, observation: Observation, menu: Menu) -> None:
        around = self._voice.around(observation, self._toolkit.perceiver)
        seen = [line for line in (self._voice.own(observation)[1], around) if line]
        episode = self._episode
        several = episode if episode is not None and len(episode.actors) > 1 else None
        whose = f" of {_actor(observation, several)}" if several else ""
        self._person.tell(f"\nTurn {self._turn}{whose}", "dim")
        self._person.tell("\n".join(seen))
        self._person.tell("\n".join(listing(menu, self._settings.listed)), "dim")


def _actor(observation: Observation, episode: Episode) -> str:
    """Whose observation it is."""
    return str(getattr(observation, "actor", episode.actors[0]))


agent = Human
