"""How household tasks fail: a wrong answer, an order never sent, a goal undone, objects that were
seen and left alone, or that never came into view."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Set
from dataclasses import replace
from itertools import chain

from wayword.core.action import Decision
from wayword.core.episode import JsonObject
from wayword.core.trajectory import Trajectory
from wayword.core.visible import count, join_words, plural, single_line, spaced
from wayword.metrics.conditions import Sought, answer_given, shown
from wayword.metrics.mistakes.behavior import behavior, failing, has_spoken, rooms_of
from wayword.metrics.mistakes.facts import EpisodeFacts, Explanation, action_words
from wayword.metrics.mistakes.wording import Fact
from wayword.metrics.recorded import SPOKEN, as_mapping, listed, objects_in, room_of
from wayword.worlds.household.goals import kinds

_SAID = 120  # characters of a message that it quotes
_AGAIN = 2  # times from which a failed action or an equal message is told
_DONE = "Done"  # the usual answer to an order, which says nothing when repeated


def explain_answer(evidence: EpisodeFacts, right: str) -> Explanation:
    """Explain a wrong or missing answer, and whether the room in question was entered."""
    if given := answer_given(evidence.trajectory.state):
        return Explanation(Fact("answered", given=given, right=right))
    end = Fact("no_answer", end=_left_room(evidence), right=right)
    return Explanation(end)


def _left_room(evidence: EpisodeFacts) -> Fact | str:
    """Describe the end after the room of all places to look at, if the actor was not in it."""
    end = evidence.end()
    asked = {about.room for about in evidence.sought}
    trajectory = evidence.trajectory
    visited: set[str] = set()
    for actor in trajectory.start:
        visited |= set(rooms_of(trajectory, actor))
    now = room_of(trajectory.steps[-1].pose)
    if len(asked) != 1 or not visited or {now, ""} & asked:
        return end
    did = "never entered"
    if asked <= visited:
        did = "left"
    return Fact("left_room", did=did, room=asked.pop(), end=end)


def explain(evidence: EpisodeFacts) -> Explanation | None:
    """Explain unmet goal conditions, or why met ones were no success; None without conditions."""
    if not evidence.unmet:
        return _no_turn_left(evidence)
    if silent := evidence.causes.get("order_not_sent"):
        found = _order_not_sent(evidence, silent)
    elif undone := _undone(evidence):
        found = undone
    elif picked := evidence.causes.get("wrong_object"):
        found = _wrong_object(evidence, picked)
    else:
        found = _left_alone(evidence) or _unused(evidence) or _never_in_view(evidence)
    more = [*found.more, *_others(evidence, found), *_team(evidence)]
    return replace(found, more=more)


def _no_turn_left(evidence: EpisodeFacts) -> Explanation | None:
    """Explain an episode that the limit ended with all conditions met: success needs a stop."""
    trajectory = evidence.trajectory
    values = evidence.progress.values
    if trajectory.ended != "step_limit" or not values:
        return None
    met = evidence.progress.held_from
    if not met:
        return None
    goals = all_goals(len(evidence.conditions))
    if met < evidence.last:
        return Explanation(Fact("not_stopped", goals=goals, met=met))
    turns = Counter(step.actor for step in trajectory.steps)
    limit = max(turns.values())
    return Explanation(
        Fact("no_turn_left", goals=goals, met=met, limit=limit, unit=evidence.unit)
    )


def all_goals(number: int) -> str:
    """Return all goals in words: ``both goals``."""
    if number == 1:
        return "the goal"
    return "both goals" if number == 2 else f"all {number} goals"


def _others(evidence: EpisodeFacts, found: Explanation) -> list[Fact]:
    """Return the last action on another goal's object; empty if there was none."""
    used = None
    if found.end["kind"] in _LEFT_ALONE:
        used = _last_use(evidence)
    return [] if used is None else [used]


_LEFT_ALONE = ("left_alone", "other_had_seen", "had_seen")
"""Explanations by one object, where other goals may have been worked at."""


def _team(evidence: EpisodeFacts) -> list[Fact]:
    """Return what several actors said of unmet goals before the episode was lost, and what stopped
    them until then: routes that failed, and a message that was repeated."""
    trajectory = evidence.trajectory
    if len(trajectory.start) < 2:
        return []
    lost = evidence.lost.step if evidence.lost else 0
    steps = trajectory.steps[: lost or evidence.last]
    messages: dict[tuple[str, str], list[int]] = {}
    failed: dict[tuple[str, str], list[int]] = {}
    for number, step in enumerate(steps, 1):
        if not isinstance(step.decision, Decision):
            continue
        action = step.decision.action
        if action.name in SPOKEN and action.arguments:
            text = single_line(action.arguments[-1], _SAID).rstrip(" .")
            messages.setdefault((step.actor, text), []).append(number)
        elif not step.feedback.ok:
            failed.setdefault((step.actor, action_words(action)), []).append(number)
    facts = []
    names: set[str] = set()
    for _, about in evidence.unmet:
        if about is not None:
            names |= {spaced(name) for name in (*about.names, about.kind)}
    about_goals = [
        (numbers[-1], actor, text)
        for (actor, text), numbers in messages.items()
        if any(re.search(rf"\b{re.escape(name)}\b", spaced(text)) for name in names)
    ]
    for number, actor, text in sorted(about_goals)[-1:]:
        facts.append(Fact("asked", actor=actor, step=number, text=text))
    for (actor, words), numbers in failed.items():
        if len(numbers) >= _AGAIN:
            feedback = steps[numbers[-1] - 1].feedback
            facts.append(failing(actor, words, len(numbers), feedback))
    for (actor, text), numbers in messages.items():
        if len(numbers) >= _AGAIN and text != _DONE:
            facts.append(Fact("said_again", actor=actor, text=text, times=len(numbers)))
    return facts


def _unmet(evidence: EpisodeFacts) -> Fact:
    """Return the end with the unmet goal; of several, their number."""
    shared = _shared(evidence)
    goals = unmet_goals(evidence)
    if len(goals) == 1:
        return Fact("unmet", goal=goals[0], **shared)
    total = len(evidence.conditions)
    met = total - len(evidence.unmet)
    return Fact("unmet_of", met=met, total=total, **shared)


def unmet_goals(evidence: EpisodeFacts) -> list[str]:
    """Return the unmet conditions in words, without those that another one includes (a hot potato,
    if a hot potato is to be in the bin)."""
    found = evidence.conditions
    listed = shown(found, evidence.sought, evidence.trajectory.state)
    # As sets of words: "a hot potato" is part of "a hot potato in the bin".
    unmet = [set(words.split()) for words, met, parts in found if met < parts]
    goals = []
    for (words, met, parts), (text, _, _) in zip(found, listed, strict=True):
        own = set(words.split())
        if met < parts and not any(own < other for other in unmet):
            goals.append(text)
    return goals


def _shared(evidence: EpisodeFacts) -> dict[str, object]:
    """Return the values of all sentences on an end: its actor, and how the episode ended."""
    return {"actor": evidence.name(), "end": _end(evidence)}


def _order_not_sent(evidence: EpisodeFacts, step: int) -> Explanation:
    """Explain an episode in which the actor did not give an order that another one needed."""
    trajectory = evidence.trajectory
    actor = trajectory.steps[step - 1].actor
    others = join_words([name for name in trajectory.start if name != actor])
    goal, about = evidence.unmet[0]
    others_unmet = len(evidence.unmet) - 1
    rest = ""
    if others_unmet:
        rest = count(others_unmet, "other goal")
    end = Fact(
        "order_not_sent", actor=actor, end=evidence.end(actor), others=others, goal=goal,
        rest=rest,
    )  # fmt: skip
    seen = first_views(trajectory)
    more = []
    if about is not None and about.names.isdisjoint(seen):
        more.append(Fact("never_in_view", object=about.kind, others=others))
    return Explanation(end, more, step=step)


def _undone(evidence: EpisodeFacts) -> Explanation | None:
    """Explain a goal condition that was met and undone for good; None if none was."""
    step = evidence.progress.first_loss
    if not step or step not in evidence.history:
        return None
    before = evidence.history[max(n for n in evidence.history if n < step)]
    pairs = zip(before, evidence.history[step], strict=False)
    undone = [words for (words, was, _), (_, now, _) in pairs if now < was]
    if not undone:
        return None
    did = Fact("undid", goal=undone[0])
    return Explanation(_unmet(evidence), [Fact("at_step", step=step, did=did)])


def _wrong_object(evidence: EpisodeFacts, picked: int) -> Explanation:
    """Explain an episode in which the actor picked up another object than the goal's."""
    actor = evidence.name(picked)
    decision = evidence.trajectory.steps[picked - 1].decision
    assert isinstance(decision, Decision)  # an action that picked something up
    taken = spaced(decision.action.arguments[0])
    did = Fact("wrong_object", actor=actor, object=taken)
    return Explanation(_unmet(evidence), [Fact("at_step", step=picked, did=did)])


def _end(evidence: EpisodeFacts) -> str:
    """Describe the end of the episode for the actor of its last step."""
    return evidence.end(evidence.trajectory.steps[-1].actor)


def first_views(trajectory: Trajectory) -> dict[str, int]:
    """Return the names of objects in view, each with the first step (from 1) that shows it.

    Also along a route, by the feedback.
    """
    seen: dict[str, int] = {}
    for number, step in enumerate(trajectory.steps, 1):
        details = step.feedback.details.values()
        on_route = [each for each in details if isinstance(each, list | tuple)]
        names = objects_in(as_mapping(step.observation))
        for name in (*names, *chain.from_iterable(on_route)):
            seen.setdefault(str(name), number)
    return seen


def _acted_on(trajectory: Trajectory) -> dict[str, int]:
    """Return the last step that acted on each object, by its name.

    An action need not name its object: one puts down what one holds. The feedback tells it.
    """
    acted: dict[str, int] = {}
    for number, step in enumerate(trajectory.steps, 1):
        if isinstance(step.decision, Decision):
            names = [*step.decision.action.arguments]
            if step.feedback.ok:
                names.append(str(step.feedback.details.get("object", "")))
            acted |= dict.fromkeys(names, number)
    return acted


def _left_alone(evidence: EpisodeFacts) -> Explanation | None:
    """Explain unmet conditions whose objects were in view and never used; None if none was.

    Objects in view at the end explain most; else the one that came into view first does.
    """
    # The objects, by name, and what each of them was sought for.
    trajectory = evidence.trajectory
    seen = first_views(trajectory)
    acted = _acted_on(trajectory)
    alone: dict[str, Sought] = {}
    for _, about in evidence.unmet:
        if about is not None and not about.names & acted.keys():
            alone |= dict.fromkeys(about.names & seen.keys(), about)
    final = trajectory.steps[-1]
    holding = [str(each.get("name")) for each in listed(final.observation, "holding")]
    # Whoever carries an object of a goal was busy with it: furniture in view was no help.
    carried = {name for _, about in evidence.unmet if about for name in about.names}
    if not carried.isdisjoint(holding):
        alone = {name: about for name, about in alone.items() if about.small}
    if not alone:
        return None

    # In view at the end, or else seen first; those to be taken are not those to be used.
    at_end = [
        name for name in objects_in(as_mapping(final.observation)) if name in alone
    ]
    names = at_end or [min(alone, key=lambda name: (seen[name], name))]
    about = alone[names[0]]
    names = [name for name in names if alone[name].small == about.small]

    # Shared by both explanations: the hands, and the company.
    held = [*map(spaced, holding)]
    shared = _shared(evidence)
    notes = _company(evidence, final.actor)
    # Full hands explain why nothing was taken; what others hold is a note.
    has_full_hands = len(held) >= about.hands
    is_full = about.small and has_full_hands
    if is_full:
        shared["held"] = held
    elif held and not has_full_hands:
        notes = [Fact("held", names=held), *notes]
    if at_end:
        start = {} if is_full else {"with": "with"}
        done = "taken" if about.small else "used"
        none = "not" if len(names) == 1 else _none_of(len(names))
        in_view = [spaced(name) for name in names]
        end = Fact("left_alone", names=in_view, none=none, done=done, **start, **shared)
    else:
        first = seen[names[0]]
        done = "picked it up" if about.small else "used it"
        kind = "had_seen"
        who = None
        seer = trajectory.steps[first - 1].actor
        if seer != final.actor:
            kind = "other_had_seen"
            who = seer
        name = spaced(names[0])
        end = Fact(kind, who=who, name=name, first=first, done=done, **shared)
    more = []
    if notes:
        more.append(Fact("notes", notes=notes))
    return Explanation(end, more, missed=names)


def _company(evidence: EpisodeFacts, actor: str) -> list[Fact]:
    """Describe the other actors: silence, and rooms that they never left."""
    trajectory = evidence.trajectory
    facts = []
    if len(trajectory.start) > 1 and not has_spoken(trajectory):
        facts.append(Fact("silent"))
    for other in trajectory.start:
        rooms = rooms_of(trajectory, other)
        if other != actor and len(rooms) == 1:
            facts.append(Fact("stayed", actor=other, room=rooms[0]))
    return facts


def _unused(evidence: EpisodeFacts) -> Explanation | None:
    """Explain an unmet condition by the last action on its object; None if there was none."""
    if (used := _last_use(evidence)) is None:
        return None
    return Explanation(Fact("nothing_done", **_shared(evidence), what=used))


def _last_use(evidence: EpisodeFacts) -> Fact | None:
    """Return the last action on the object of the first unmet condition that had one."""
    acted = _acted_on(evidence.trajectory)
    for _, about in evidence.unmet:
        if about is not None and about.names & acted.keys():
            used = about.names & acted.keys()
            # The last action on any of them; names break ties, for equal reports.
            name = max(used, key=lambda each: (acted[each], each))
            number = acted[name]
            feedback = evidence.trajectory.steps[number - 1].feedback
            failed = ""
            if not feedback.ok:
                failed = spaced(feedback.status)
            # After the last step nothing could be done.
            kind = "used_last" if number == evidence.last else "untouched"
            return Fact(
                kind,
                by=evidence.name(number),
                action=evidence.acted(number),
                acted=number,
                object=spaced(name),
                failed=failed,
                others=_others_untouched(evidence, about, used),
            )
    return None


def _others_untouched(
    evidence: EpisodeFacts, about: Sought, used: Set[str]
) -> list[str]:
    """Return the other objects of a goal that needs all of its objects, where none was acted on."""
    needs_all = any(
        each is about and parts == len(about.ids)
        for (_, _, parts), each in zip(
            evidence.conditions, evidence.sought, strict=False
        )
    )
    # Several actors have several names for one object.
    if not needs_all or len(evidence.trajectory.start) > 1:
        return []
    return [spaced(name) for name in sorted(about.names - used)]


def _none_of(number: int) -> str:
    """Return the word for none of a number of objects."""
    return "neither" if number == 2 else "none"


_MOST_PLACES = 3  # that a reader takes in within a sentence


def _holders(about: Sought, room: str, state: JsonObject) -> list[Fact]:
    """Return what unseen objects were in or on; empty without such a place, or with too many."""
    objects = as_mapping(state.get("objects"))
    holders = [str(as_mapping(objects.get(each)).get("in") or "") for each in about.ids]
    counts = Counter(kinds([holder]) for holder in {*holders} if holder)
    if not all(holders) or not 0 < len(counts) <= _MOST_PLACES:
        return []
    names = []
    for kind, number in sorted(counts.items()):
        names.append(f"the {kind}" if number == 1 else plural(kind))
    return [Fact("held_by", were=_named_were(about), names=names, room=room)]


def _named_were(about: Sought) -> str:
    """Return the subject of a sentence on objects: ``both mugs were``."""
    number = len(about.ids)
    if number < 2:
        return f"the {about.kind} was"
    # Of several kinds no plural is formed.
    objects = "objects" if " or " in about.kind else plural(about.kind)
    return f"both {objects} were" if number == 2 else f"all {number} {objects} were"


def _were(about: Sought) -> str:
    """Return the subject of a phrase on objects: ``both were``."""
    if len(about.ids) < 2:
        return "it was"
    return "both were" if len(about.ids) == 2 else "they were"


def _never_in_view(evidence: EpisodeFacts) -> Explanation:
    """Explain unmet conditions whose objects never came into view.

    One kind of object is named with its room; of several, only their number is given. Without a
    known house there are no objects to name, and the conditions stand for them.
    """
    about = next((each for _, each in evidence.unmet if each is not None), None)
    if about is None:  # the objects have no names: the house is not known
        return Explanation(_unmet(evidence))
    shared = _shared(evidence)
    unseen = [each for _, each in evidence.unmet if each is not None]
    points: list[tuple[float, float]] = []
    if len(evidence.conditions) < 2:  # else some object may have been faced by chance
        points += chain.from_iterable(each.points for each in unseen)
    facts = behavior(evidence, points, unseen)
    # The sentence has named its actor.
    if facts and facts[0].get("actor") == shared["actor"]:
        facts[0] = Fact(**{**facts[0], "actor": ""})
    objects = {tuple(each.ids) or (each.kind,) for each in unseen}
    if len(objects) > 1:
        total = len(evidence.conditions)
        counted: dict[str, object] = {}
        if met := total - len(evidence.unmet):
            counted = {"met": met, "total": total}
        end = Fact(
            "no_goal_in_view",
            none=_none_of(len(objects)),
            objects=len(objects),
            fact=next(iter(facts), None),
            **counted,
            **shared,
        )
        return Explanation(end, facts[1:])
    # The end says it, and a room that had them is no reason.
    facts = [
        fact for fact in facts
        if fact["kind"] != "never_saw"
        and not (fact["kind"] == "stayed" and fact["room"] == about.room)
    ]  # fmt: skip
    room = about.room
    if any(fact["kind"] == "in_the_room" for fact in facts):
        room = ""  # a fact names it
    fact = next(iter(facts), None)
    held = _holders(about, room, evidence.trajectory.state)
    # A sentence on what they were in or on names the room.
    end = Fact(
        "none_in_view", object=about.kind, were=_were(about), fact=fact,
        room="" if held else room, **shared,
    )  # fmt: skip
    return Explanation(end, [*held, *facts[1:]])
