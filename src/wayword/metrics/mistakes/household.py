"""How household tasks fail: a wrong answer, an order never sent, a goal undone, objects that were
seen and left alone, or that never came into view."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

from wayword.core.action import Decision
from wayword.core.trajectory import Trajectory
from wayword.metrics.conditions import Sought, answer_given
from wayword.metrics.mistakes.behavior import behavior, has_spoken, rooms_of
from wayword.metrics.mistakes.facts import EpisodeFacts, Explanation
from wayword.metrics.mistakes.wording import Fact
from wayword.metrics.progress import join_words
from wayword.metrics.recorded import as_mapping, listed, objects_in, room_of

_NAMED = 2  # unmet goal conditions that the sentence names


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
    visited = {
        room for actor in trajectory.start for room in rooms_of(trajectory, actor)
    }
    now = room_of(trajectory.steps[-1].pose)
    if len(asked) != 1 or not visited or {now, ""} & asked:
        return end
    did = "left" if asked <= visited else "never entered"
    return Fact("left_room", did=did, room=asked.pop(), end=end)


def explain(evidence: EpisodeFacts) -> Explanation | None:
    """Explain unmet goal conditions; None if all are met."""
    if not evidence.unmet:
        return None
    if silent := evidence.causes.get("order_not_sent"):
        return _order_not_sent(evidence, silent)
    undone = _undone(evidence)
    if undone is not None:
        return undone
    if picked := evidence.causes.get("wrong_object"):
        return _wrong_object(evidence, picked)
    return _left_alone(evidence) or _unused(evidence) or _never_in_view(evidence)


def _unmet(evidence: EpisodeFacts) -> dict[str, object]:
    goals = [words for words, _ in evidence.unmet]
    rest = len(goals) - _NAMED
    return {"goals": goals[:_NAMED], "rest": rest if rest > 0 else None}


def _order_not_sent(evidence: EpisodeFacts, step: int) -> Explanation:
    trajectory = evidence.trajectory
    actor = trajectory.steps[step - 1].actor
    others = join_words([name for name in trajectory.start if name != actor])
    goal, about = evidence.unmet[0]
    end = Fact(
        "order_not_sent", actor=actor, end=evidence.end(actor), goal=goal, others=others
    )
    seen = first_views(trajectory)
    more = []
    if about is not None and about.names.isdisjoint(seen):
        more.append(Fact("never_in_view", object=about.kind, others=others))
    return Explanation(end, more, step=step)


def _undone(evidence: EpisodeFacts) -> Explanation | None:
    """Explain a goal condition that was met and undone for good."""
    step = evidence.progress.first_loss
    if not step or step not in evidence.history:
        return None
    before = evidence.history[max(n for n in evidence.history if n < step)]
    pairs = zip(before, evidence.history[step], strict=True)
    undone = [words for (words, was, _), (_, now, _) in pairs if now < was]
    if not undone:
        return None
    did = Fact("undid", goal=undone[0])
    end = Fact("unmet", actor=_name(evidence), end=_end(evidence), **_unmet(evidence))
    at_step = Fact("at_step", step=step, did=did)
    return Explanation(end, [at_step])


def _wrong_object(evidence: EpisodeFacts, picked: int) -> Explanation:
    step = evidence.trajectory.steps[picked - 1]
    several = len(evidence.trajectory.start) > 1
    actor = step.actor if several else ""
    did = Fact("wrong_object", actor=actor, action=evidence.acted(picked))
    end = Fact("unmet", actor=_name(evidence), end=_end(evidence), **_unmet(evidence))
    return Explanation(end, [Fact("at_step", step=picked, did=did)])


def _decisive(evidence: EpisodeFacts) -> str:
    """Return the actor of the last step."""
    return evidence.trajectory.steps[-1].actor


def _name(evidence: EpisodeFacts) -> str:
    """Return the name of the actor of the last step, empty if there is only one actor."""
    return _decisive(evidence) if len(evidence.trajectory.start) > 1 else ""


def _end(evidence: EpisodeFacts) -> str:
    return evidence.end(_decisive(evidence))


def first_views(trajectory: Trajectory) -> dict[str, int]:
    """Return the names of objects in view, also along a route, by the feedback; each with the first
    step."""
    seen: dict[str, int] = {}
    for number, step in enumerate(trajectory.steps, 1):
        details = step.feedback.details.values()
        on_route = [each for each in details if isinstance(each, list | tuple)]
        names = objects_in(as_mapping(step.observation))
        for name in (*names, *chain.from_iterable(on_route)):
            seen.setdefault(str(name), number)
    return seen


def _acted_on(trajectory: Trajectory) -> dict[str, int]:
    """Return the last step that acted on each object, by its name."""
    acted: dict[str, int] = {}
    for number, step in enumerate(trajectory.steps, 1):
        if isinstance(step.decision, Decision):
            acted |= dict.fromkeys(step.decision.action.arguments, number)
    return acted


def _left_alone(evidence: EpisodeFacts) -> Explanation | None:
    """Explain unmet conditions whose objects were in view and never used; None if none was."""
    trajectory = evidence.trajectory
    seen = first_views(trajectory)
    acted = _acted_on(trajectory)
    alone: dict[str, Sought] = {}
    for _, about in evidence.unmet:
        if about is not None and not about.names & acted.keys():
            alone |= dict.fromkeys(about.names & seen.keys(), about)
    if not alone:
        return None
    final = trajectory.steps[-1]
    at_end = [
        name for name in objects_in(as_mapping(final.observation)) if name in alone
    ]
    names = at_end or [min(alone, key=lambda name: (seen[name], name))]
    about = alone[names[0]]
    held = [str(each.get("name")) for each in listed(final.observation, "holding")]
    is_full = len(held) >= about.hands
    shared = {
        "actor": _name(evidence), "end": _end(evidence), "held": held if is_full else None,
    }  # fmt: skip
    if at_end:
        done = "taken" if about.small else "used"
        none = "none" if len(names) > 1 else "not"
        start = None if is_full else "with"
        end = Fact(
            "left_alone", names=names, none=none, done=done, **{"with": start}, **shared
        )
    else:
        first = seen[names[0]]
        done = "picked it up" if about.small else "used it"
        seer = trajectory.steps[first - 1].actor
        who = None if seer == final.actor else seer
        kind = "had_seen" if who is None else "other_had_seen"
        end = Fact(kind, who=who, name=names[0], first=first, done=done, **shared)
    more = _company(evidence, final.actor)
    if held and not is_full:
        more = [Fact("held", names=held), *more]
    return Explanation(end, [Fact("notes", notes=more)] if more else (), missed=names)


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
    acted = _acted_on(evidence.trajectory)
    several = len(evidence.trajectory.start) > 1
    for words, about in evidence.unmet:
        steps = [acted[name] for name in about.names if name in acted] if about else []
        if steps:
            number = max(steps)
            by = evidence.trajectory.steps[number - 1].actor if several else ""
            return Explanation(
                Fact(
                    "nothing_done", actor=_name(evidence), end=_end(evidence), by=by,
                    action=evidence.acted(number), acted=number, goal=words,
                )
            )  # fmt: skip
    return None


def _never_in_view(evidence: EpisodeFacts) -> Explanation:
    """Explain unmet conditions whose objects never came into view."""
    about = next((each for _, each in evidence.unmet if each is not None), None)
    shared: dict[str, object] = {"actor": _name(evidence), "end": _end(evidence)}
    if about is None:  # the objects have no names: the house is not known
        return Explanation(Fact("unmet", **shared, **_unmet(evidence)))
    unseen = [each for _, each in evidence.unmet if each is not None]
    single = len(evidence.conditions) < 2
    points = [point for each in unseen for point in each.points] if single else []
    facts = behavior(evidence, points, unseen)
    objects = {tuple(each.ids) or (each.kind,) for each in unseen}
    if len(objects) > 1:
        total = len(evidence.conditions)
        met = total - len(evidence.unmet)
        counted: Mapping[str, int] = {"met": met, "total": total} if met else {}
        end = Fact(
            "no_goal_in_view", objects=len(objects), facts=facts, **counted, **shared
        )
        return Explanation(end)
    is_in_the_room = any(fact["kind"] == "in_the_room" for fact in facts)
    room = "" if is_in_the_room else about.room
    end = Fact("none_in_view", object=about.kind, room=room, facts=facts, **shared)
    return Explanation(end)
