"""The system message: who the agent is, the world's rules, its actions, the task, the form.

Texts are files named for the world's voice (``rules_rooms.txt``, ``actions_rooms.txt``). Rules of
the task at hand come with the episode, as ``episode.extra["rules"]``: one text, or one for each
actor by name. So a new task brings its rules in its dataset, and nothing here changes. Where actors
are told different things, ``episode.extra["instructions"]`` holds them by name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from wayword.agents.prompting import Prompts
from wayword.core.action import Action, Menu
from wayword.core.episode import Episode

_SIGNATURE = re.compile(r"([a-z_]+)(?:\[([^\]]*)\])?")


def system_text(
    prompts: Prompts, world: str, form: str, episode: Episode, actor: str, menu: Menu
) -> str:
    """Everything that stays the same for an episode; empty parts leave no gap."""
    blocks = [prompts["agent"], prompts[f"rules_{world}"]]
    others = [name for name in episode.actors if name != actor]
    if others:
        blocks.append(prompts.fill("actors", actor=actor, others=", ".join(others)))
    blocks += [task_rules(episode, actor)]
    blocks += [prompts.fill("actions", actions=actions(prompts[f"actions_{world}"], menu)), form]
    return "\n\n".join(block for block in blocks if block.strip())


def instruction(episode: Episode, actor: str) -> str:
    """What an actor is asked to do: its own ``episode.extra["instructions"]``, else everybody's."""
    return str(episode.extra.get("instructions", {}).get(actor, episode.instruction))


def task_rules(episode: Episode, actor: str) -> str:
    """What the episode tells of its task's own rules, empty for nothing."""
    given = episode.extra.get("rules", "")
    return str(given.get(actor, "") if isinstance(given, Mapping) else given).strip()


def actions(catalogue: str, menu: Menu) -> str:
    """The catalogue's lines for the verbs this body has, then bare verbs it does not describe.

    A line reads ``put[object, receptacle]: put down what you hold``.
    """
    listed = dict.fromkeys([*(action.name for action in menu.actions), *menu.open_verbs])
    lines = [line for line in catalogue.splitlines() if line.strip()]
    told = [line for line in lines if _has(line, menu, listed)]
    described = {_verb(line) for line in told}
    return "\n".join([*told, *(verb for verb in listed if verb not in described)])


def _verb(line: str) -> str:
    match = _SIGNATURE.match(line)
    return match.group(1) if match else ""


def _has(line: str, menu: Menu, listed: Mapping[str, None]) -> bool:
    """Whether the verb can ever be used: it is listed now, or any such action is taken."""
    match = _SIGNATURE.match(line)
    if match is None:
        return False
    verb, slots = match.groups()
    words = tuple("x" for _ in slots.split(",")) if slots else ()
    if words and verb in menu.open_verbs:
        return True
    return (verb in listed and verb not in menu.open_verbs) or Action(verb, words) in menu
