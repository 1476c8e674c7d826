"""Briefing of agents that play any world: system message, instruction, and actions in words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from wayword.agents.answers import MOST_LISTED
from wayword.agents.pages import Prompts
from wayword.core.action import Action, ActionSpace
from wayword.core.episode import Episode
from wayword.verbalize import generic
from wayword.verbalize.generic import Verbalizer

# Matches any argument, including names not seen yet
_NAME_FORM = "[A-Za-z0-9_ -]{1,40}"
_NAME_TOKEN = re.compile(r"[\w-]+")


def offered(space: ActionSpace, text: str, most: int) -> ActionSpace:
    r"""Return the space for a constrained answer: it lists actions on what ``text`` names.

    At most ``most`` of them, the shortest ones; the others are covered by patterns. A
    schema that listed all objects seen so far would give the model a memory beyond its
    prompt.

        >>> from wayword.core.action import STOP
        >>> space = ActionSpace((Action("goto", ("mug_1",)), Action("goto", ("cup_2",)), STOP))
        >>> shown = offered(space, "Before you: mug_1.", 10)
        >>> [str(action) for action in shown.listed], shown.forms
        (['goto[mug_1]', 'stop'], ('goto\\[[A-Za-z0-9_ -]{1,40}\\]',))
    """
    known = set(_NAME_TOKEN.findall(text))
    in_view = [
        action
        for action in space.listed
        if known.issuperset(_NAME_TOKEN.findall(" ".join(action.arguments)))
    ]
    # The shortest, because one schema has room for few characters.
    shortest = sorted(in_view, key=lambda action: len(str(action)))
    listed = set(shortest[:most])
    # The other actions only by their verb and number of arguments
    hidden = {
        (action.name, len(action.arguments)): None
        for action in space.listed
        if action not in listed
    }
    forms = []
    for verb, count in hidden:
        form = verb
        if count:
            form += rf"\[{', '.join([_NAME_FORM] * count)}\]"
        forms.append(form)
    shown = tuple(action for action in space.listed if action in listed)
    return replace(space, listed=shown, forms=(*space.forms, *forms))


_SIGNATURE = re.compile(r"([a-z_]+)(?:\[([^\]]*)\])?")


def system_text(
    prompts: Prompts,
    voice: Verbalizer,
    episode: Episode,
    actor: str,
    space: ActionSpace,
    /,
    **slots: object,
) -> str:
    """Return the system message of an episode.

    The goal is the one of the task if it states any, else the family's; the rules of the
    world are always the family's, whose page is in the folder ``worlds``. ``slots`` fill
    the rest of the agent's page and override the briefing.
    """
    # Training environments show no pictures of earlier turns.
    no_pictures = {"picture_history": 0}
    briefing = {**no_pictures, **voice.briefing(space), **slots}
    return prompts.fill(
        "system",
        goal=task_goal(episode, actor) or prompts[f"goal_{voice.name}"],
        rules=prompts.fill(f"rules_{voice.name}", **briefing),
        actor=actor,
        others=", ".join(name for name in episode.actors if name != actor),
        **briefing,
    )


def catalog_of(
    prompts: Prompts, voice: Verbalizer, space: ActionSpace, argument: bool = False
) -> str:
    """Return the actions of a space, from the catalog of the family's page.

    See :func:`action_lines`. A world without a catalog lists them in each observation.
    """
    if lists_actions(prompts, voice):
        # The present verbs; others may come with a later step.
        verbs = {
            each.name: f"{each.name}[…]" for each in space.listed if each.arguments
        }
        names = [verbs.get(each.name, each.name) for each in space.listed]
        names += _spoken(space, argument)
        return prompts.fill("actions_listed", verbs="\n".join(dict.fromkeys(names)))
    catalog = prompts.fill(f"actions_{voice.name}", **voice.briefing(space))
    return action_lines(catalog, space, argument)


def lists_actions(prompts: Prompts, voice: Verbalizer) -> bool:
    """True if observations list the actions, because nothing else in a prompt names them."""
    has_catalog = voice.name != generic.PLAIN.name or bool(
        prompts[f"actions_{voice.name}"]
    )
    return not (has_catalog or voice.names_arguments)


def possible_actions(
    prompts: Prompts, voice: Verbalizer, space: ActionSpace, argument: bool = False
) -> str:
    """Return the line of an observation that lists the actions as answers write them; empty if
    the catalog describes them. ``argument`` as in :func:`action_lines`."""
    if not lists_actions(prompts, voice):
        return ""
    # The first actions of each verb, however many an earlier verb has.
    counts: Counter[str] = Counter()
    ranks = []
    for number, action in enumerate(space.listed):
        ranks.append((counts[action.name], number))
        counts[action.name] += 1
    numbers = sorted(number for _, number in sorted(ranks)[:MOST_LISTED])
    texts = [str(space.listed[number]) for number in numbers]
    if len(space.listed) > MOST_LISTED:
        texts.append(f"and {len(space.listed) - MOST_LISTED:,} more")
    texts += _spoken(space, argument)
    return prompts.fill("possible", possible=", ".join(texts))


def _spoken(space: ActionSpace, argument: bool) -> list[str]:
    """Return the actions that take a text, as answers write them."""
    form = "{} (argument: text)" if argument else "{}[text]"
    return [form.format(verb) for verb in space.open_verbs]


def instruction(episode: Episode, actor: str) -> str:
    """Return the task of an actor: its own in ``extra["instructions"]``, else the shared one."""
    return str(episode.extra.get("instructions", {}).get(actor, episode.instruction))


def task_goal(episode: Episode, actor: str) -> str:
    """Return the goal of an episode's task, from ``extra["rules"]``: one text, or one per actor.

    Empty if the episode states none.
    """
    given = episode.extra.get("rules", "")
    if isinstance(given, Mapping):
        given = given.get(actor, "")
    return str(given).strip()


def action_lines(catalog: str, space: ActionSpace, argument: bool) -> str:
    """Return the catalog's lines for the available verbs, then the verbs that it lacks.

    A line reads ``put[object, receptacle]: put down what you hold``. With ``argument``, free text
    is a field of its own: ``chat (argument: message): send a message``.
    """
    signatures = {(action.name, bool(action.arguments)) for action in space.listed}
    lines: dict[str, list[str]] = {}  # description -> actions that share it
    described: set[str] = set()
    for line in catalog.splitlines():
        if (match := _SIGNATURE.match(line)) is None:
            continue
        verb, slots = match.groups()
        count = 0
        if slots:
            count = len(slots.split(","))
        # Only the line with an argument, as in ``stop[answer]``
        if verb in space.open_verbs:
            is_usable = count > 0
        else:  # listed, or legal with any name or number
            accepted = (Action(verb, (word,) * count) in space for word in ("x", "0"))
            is_usable = (verb, count > 0) in signatures or any(accepted)
        if not is_usable:
            continue
        head, _, about = line.partition(": ")
        if argument and verb in space.open_verbs:
            head = f"{verb} (argument: {slots})"
        lines.setdefault(about, []).append(head)
        described.add(verb)
    verbs = dict.fromkeys(
        [*(action.name for action in space.listed), *space.open_verbs]
    )
    texts = [f"{', '.join(heads)}: {about}" for about, heads in lines.items()]
    return "\n".join([*texts, *(verb for verb in verbs if verb not in described)])
