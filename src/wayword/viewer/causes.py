"""What went wrong in an episode without success, by the look of its record.

    >>> from wayword.viewer.causes import causes
    >>> step = {"actor": "a", "decision": {"action": "forward"}, "pose": {"x": 1, "y": 1}}
    >>> written = {"start": {"a": {"x": 1, "y": 1}}, "steps": [step] * 4, "ended": "step_limit"}
    >>> causes(written, {"sr": 0.0})
    ('looped', 'ran_out')

Several may hold for one episode. They are signs to look at, read off the recorded steps and scores
alone: no label of a person stands behind them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from math import hypot
from typing import Any

CAUSES: Mapping[str, str] = {
    "passed_goal": "was within reach of the goal, or saw it, and ended elsewhere",
    "stopped_early": "stopped by itself without having been at the goal",
    "never_seen": "what was looked for was never in view",
    "wrong_object": "picked up or chose something else than was meant",
    "gave_up": "stopped after three turns in a row that came to nothing",
    "looped": "took the same action in the same pose three times or more",
    "wandered": "walked at least three times as far as it got, or back over its own way",
    "rejected": "a quarter or more of its answers were no legal action",
    "truncated": "an answer ended at its token limit",
    "partner_silent": "an actor never said anything to the others",
    "ran_out": "was cut off at the step limit",
    "failed": "ended with an error",
}
"""Every cause in the order it is shown, with what it means."""

_PASSED = ("osr", "ever_seen")
"""Metrics that are 1 where the goal was reached or seen at some time."""
_SPEECH = frozenset({"chat", "ask"})
_PICKING = frozenset({"pick_up", "pickup", "pick", "grab"})
_PASSING = frozenset({"turn_left", "turn_right", "wait"})
"""What one of several actors does while it waits for another."""
_FEW, _TIMES = 10, 3.0
_STUCK = 3


def causes(
    written: Mapping[str, Any], scores: Mapping[str, float], instruction: str = ""
) -> tuple[str, ...]:
    """The signs in a trajectory as ``episodes.jsonl.gz`` has it, for an episode without success."""
    return tuple(signs(written, scores, instruction))


def signs(
    written: Mapping[str, Any], scores: Mapping[str, float], instruction: str = ""
) -> dict[str, int]:
    """The same, each with the first step, from 1, that shows it; 0 where no single one does."""
    if written.get("ended") == "failed":
        return {"failed": 0}
    steps = [step for step in written.get("steps", ()) if isinstance(step, Mapping)]
    passed = any(scores.get(key, 0.0) > 0.5 for key in _PASSED)
    stopped = written.get("ended") == "stopped"
    chose = stopped and _chose(steps)
    rejected = [n for n, step in enumerate(steps, 1) if _rejected(step)]
    found = {
        "passed_goal": 0 if passed else None,
        "stopped_early": len(steps) if stopped and not passed and not chose else None,
        "never_seen": 0 if scores.get("ever_seen") == 0.0 else None,
        "wrong_object": len(steps) if chose else _picked_wrong(steps, instruction),
        "gave_up": max(1, len(steps) - _STUCK) if stopped and _stuck(steps[:-1]) else None,
        "looped": _looped(written, steps),
        "rejected": rejected[0] if rejected and 4 * len(rejected) >= len(steps) else None,
        "truncated": next((n for n, step in enumerate(steps, 1) if _truncated(step)), None),
        "partner_silent": 0 if _silent(steps) else None,
        "ran_out": len(steps) if written.get("ended") == "step_limit" else None,
    }
    if found["looped"] is None and _wandered(written, steps):
        found["wandered"] = 0
    return {name: step for name in CAUSES if (step := found.get(name)) is not None}


def _chose(steps: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the episode ended by a choice of something, as a two-phase test does."""
    last = steps[-1].get("decision", {}) if steps else {}
    return last.get("action") == "go" and bool(last.get("arguments"))


def _rejected(step: Mapping[str, Any]) -> bool:
    decision = step.get("decision", {})
    return "rejected" in decision or "fallback_for" in decision


def _truncated(step: Mapping[str, Any]) -> bool:
    decision = step.get("decision", {})
    no = decision.get("fallback_for", decision)
    if no.get("rejected") in ("cut_off", "too_long"):
        return True
    answers = (call.get("answer") or {} for call in step.get("calls", ()))
    return any("length" in answer.get("finish", ()) for answer in answers)


def _stuck(steps: Sequence[Mapping[str, Any]]) -> bool:
    last = steps[-_STUCK:]
    return len(last) == _STUCK and all(_came_to_nothing(step) for step in last)


def _came_to_nothing(step: Mapping[str, Any]) -> bool:
    return bool(step.get("feedback", {}).get("status", "ok") != "ok")


def _silent(steps: Sequence[Mapping[str, Any]]) -> bool:
    actors = {step.get("actor") for step in steps}
    spoke = {s.get("actor") for s in steps if s.get("decision", {}).get("action") in _SPEECH}
    return len(actors) > 1 and spoke != actors


def _picked_wrong(steps: Sequence[Mapping[str, Any]], instruction: str) -> int | None:
    """By the words of the instruction; nothing where it is not known."""
    named = set(re.findall(r"[a-z]+", instruction.lower()))
    for number, step in enumerate(steps, 1):
        decision, arguments = step.get("decision", {}), step.get("decision", {}).get("arguments")
        if (
            named
            and decision.get("action") in _PICKING
            and arguments
            and not _came_to_nothing(step)
        ):
            words = re.findall(r"[a-z]+", str(arguments[0]).lower())
            if words and not named.intersection({*words, *(f"{word}s" for word in words)}):
                return number
    return None


def _poses(written: Mapping[str, Any], actor: str, steps: Sequence[Any]) -> list[dict[str, Any]]:
    """The actor's poses, the start first; one a step."""
    first = written.get("start", {}).get(actor)
    mine = [step for step in steps if step.get("actor") == actor]
    poses = [first, *(step.get("pose", step.get("where")) for step in mine)]
    return [dict(pose) if isinstance(pose, Mapping) else {} for pose in poses]


def _looped(written: Mapping[str, Any], steps: Sequence[Mapping[str, Any]]) -> int | None:
    """The second of the steps that did the same in the same pose, of those with a third."""
    found: list[int] = []
    actors = dict.fromkeys(str(step.get("actor")) for step in steps)
    for actor in actors:
        poses = _poses(written, actor, steps)
        mine = [(n, step) for n, step in enumerate(steps, 1) if step.get("actor") == actor]
        done: dict[tuple[str, ...], list[int]] = {}
        for pose, (number, step) in zip(poses, mine, strict=False):
            if pose and "action" in (decision := step.get("decision", {})):
                action = str(decision["action"]), repr(decision.get("arguments"))
                if len(actors) > 1 and action[0] in _PASSING:
                    continue
                done.setdefault((repr(sorted(pose.items())), *action), []).append(number)
        found += [numbers[1] for numbers in done.values() if len(numbers) >= _STUCK]
    return min(found, default=None)


def _wandered(written: Mapping[str, Any], steps: Sequence[Mapping[str, Any]]) -> bool:
    """More than ten moves that led three times as far as the straight way, or a third of them to
    places where the actor had been before."""
    for actor in dict.fromkeys(str(step.get("actor")) for step in steps):
        places = [_place(pose) for pose in _poses(written, actor, steps)]
        moved = [b for a, b in itertools.pairwise(places) if b is not None and a != b]
        if len(moved) < _FEW:
            continue
        if 3 * (len(moved) - len(set(moved))) >= len(moved):
            return True
        points = [p for p in places if isinstance(p, tuple)]
        if len(points) == len(places):
            way = sum(hypot(b[0] - a[0], b[1] - a[1]) for a, b in itertools.pairwise(points))
            got = hypot(points[-1][0] - points[0][0], points[-1][1] - points[0][1])
            if way > _TIMES * got:
                return True
    return False


def _place(pose: Mapping[str, Any]) -> tuple[float, float] | str | None:
    x, y = pose.get("x"), pose.get("y")
    if isinstance(x, int | float) and isinstance(y, int | float):
        return round(x, 2), round(y, 2)
    name = pose.get("viewpoint") or pose.get("panorama")
    return str(name) if name else None
