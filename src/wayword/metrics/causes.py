"""Causes of failure of an episode: heuristics on its recorded steps and scores, not validated
against human labels. An episode may have several.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container, Mapping, Sequence
from itertools import pairwise
from typing import Any

CAUSES: Mapping[str, tuple[str, str]] = {
    "failed": ("failed", "ended with an error"),
    "never_seen": ("never seen", "the target was never in view"),
    "seen_not_taken": (
        "seen, not taken",
        "the target was in view, but the episode ended elsewhere",
    ),
    "passed_goal": ("passed the goal", "reached the goal, but ended elsewhere"),
    "wrong_object": ("wrong object", "picked up or chose the wrong object"),
    "stopped_early": ("stopped early", "stopped before reaching the goal"),
    "gave_up": ("gave up", "stopped after three failed actions in a row"),
    "looped": ("looped", "took the same action in the same pose three times or more"),
    "wandered": (
        "wandered",
        "path at least three times its net distance, or largely retraced",
    ),
    "rejected": (
        "rejected answers",
        "at least a quarter of the answers were not legal actions",
    ),
    "truncated": ("truncated", "an answer reached its token limit"),
    "partner_silent": ("silent actor", "an actor never spoke to the others"),
    "ran_out": ("ran out", "reached the step limit"),
}
"""Every cause with its name in tables and its meaning, the most informative first."""

_REACHED = "osr", "ever_seen"  # metrics that are 1 if the goal was ever reached or seen
_SPEECH = frozenset({"chat", "ask"})
_PICKING = frozenset({"pick_up", "pickup", "pick", "grab"})
_WAITING = frozenset({"turn_left", "turn_right", "wait"})
"""Actions that an actor repeats while it waits for another one: not a loop."""
_FEW_MOVES = 10  # shorter walks are never called wandering
_DETOUR = 3.0  # ratio of path length to net distance above which a walk is wandering
_REPEATS = 3  # failed actions in a row, or equal actions in one pose


def label_of(cause: str) -> str:
    """Return the name of a cause in tables: ``passed the goal`` for ``passed_goal``."""
    return CAUSES[cause][0]


def meaning_of(cause: str, metrics: Container[str]) -> str:
    """Return the meaning of a cause. It mentions a goal only if a metric records whether it was
    reached: some worlds have no goal place."""
    if cause == "stopped_early" and not any(key in metrics for key in _REACHED):
        return "stopped before the task was done"
    return CAUSES[cause][1]


Written = Mapping[str, Any]  # a step or trajectory as stored in ``episodes.jsonl.gz``


def find_causes(
    written: Written, scores: Mapping[str, float], instruction: str = ""
) -> dict[str, int]:
    """Find the causes of failure of an episode, each with the first step (from 1) that shows it; 0
    if no single step does.

    >>> step = {"actor": "a", "decision": {"action": "forward"}, "pose": {"x": 1, "y": 1}}
    >>> written = {"start": {"a": {"x": 1, "y": 1}}, "steps": [step] * 4, "ended": "step_limit"}
    >>> find_causes(written, {"sr": 0.0})
    {'looped': 2, 'ran_out': 4}
    """
    if written.get("ended") == "failed":
        return {"failed": 0}
    steps = [step for step in written.get("steps", ()) if isinstance(step, Mapping)]
    numbered = list(enumerate(steps, 1))
    decisions = [step.get("decision", {}) for step in steps]
    stopped = written.get("ended") == "stopped"
    passed, seen = (scores.get(key, 0.0) > 0.5 for key in _REACHED)
    # An episode may end with a choice, as in the two-phase test.
    last = decisions[-1] if decisions else {}
    chose = stopped and last.get("action") == "go" and bool(last.get("arguments"))
    stuck = steps[:-1][-_REPEATS:]
    gave_up = stopped and len(stuck) == _REPEATS and not any(map(_succeeded, stuck))
    rejected = [
        n for n, d in enumerate(decisions, 1) if "rejected" in d or "fallback_for" in d
    ]
    actors = {step.get("actor") for step in steps}
    spoke = {step.get("actor") for step, d in zip(steps, decisions, strict=True)
             if d.get("action") in _SPEECH}  # fmt: skip
    looped = _find_loop(written, steps)
    first_steps = {
        "never_seen": 0 if scores.get("ever_seen") == 0.0 else None,
        "seen_not_taken": 0 if seen else None,
        "passed_goal": 0 if passed else None,
        "wrong_object": len(steps) if chose else _find_wrong_pick(steps, instruction),
        "stopped_early": len(steps)
        if stopped and not (passed or seen or chose)
        else None,
        "gave_up": max(1, len(steps) - _REPEATS) if gave_up else None,
        "looped": looped,
        "wandered": 0 if looped is None and _has_wandered(written, steps) else None,
        "rejected": rejected[0]
        if rejected and 4 * len(rejected) >= len(steps)
        else None,
        "truncated": next((n for n, step in numbered if _is_truncated(step)), None),
        "partner_silent": 0 if len(actors) > 1 and spoke != actors else None,
        "ran_out": len(steps) if written.get("ended") == "step_limit" else None,
    }
    return {
        name: step for name in CAUSES if (step := first_steps.get(name)) is not None
    }


def _succeeded(step: Written) -> bool:
    return bool(step.get("feedback", {}).get("status", "ok") == "ok")


def _is_truncated(step: Written) -> bool:
    decision = step.get("decision", {})
    kind = decision.get("fallback_for", decision).get("rejected")
    answers = (call.get("answer") or {} for call in step.get("calls", ()))
    cut = any("length" in answer.get("finish", ()) for answer in answers)
    return cut or kind in ("cut_off", "too_long")


def _find_wrong_pick(steps: Sequence[Written], instruction: str) -> int | None:
    """Return the first step that picked up an object which the instruction does not name."""
    named = set(re.findall(r"[a-z]+", instruction.lower()))
    for number, step in enumerate(steps, 1):
        decision = step.get("decision", {})
        arguments = decision.get("arguments")
        if (
            named
            and decision.get("action") in _PICKING
            and arguments
            and _succeeded(step)
        ):
            words = re.findall(r"[a-z]+", str(arguments[0]).lower())
            if words and not named.intersection(
                {*words, *(f"{word}s" for word in words)}
            ):
                return number
    return None


def _poses(
    written: Written, actor: str, steps: Sequence[Written]
) -> list[dict[str, Any]]:
    mine = (step for step in steps if step.get("actor") == actor)
    poses = [
        written.get("start", {}).get(actor),
        *(s.get("pose", s.get("where")) for s in mine),
    ]
    return [dict(pose) if isinstance(pose, Mapping) else {} for pose in poses]


def _find_loop(written: Written, steps: Sequence[Written]) -> int | None:
    """Return the second of the first three steps with the same action in the same pose."""
    repeats: list[int] = []
    actors = dict.fromkeys(str(step.get("actor")) for step in steps)
    for actor in actors:
        mine = [
            (n, step) for n, step in enumerate(steps, 1) if step.get("actor") == actor
        ]
        done: dict[tuple[str, ...], list[int]] = {}
        for pose, (number, step) in zip(
            _poses(written, actor, steps), mine, strict=False
        ):
            decision = step.get("decision", {})
            if not pose or "action" not in decision:
                continue
            if len(actors) == 1 or decision["action"] not in _WAITING:
                action = str(decision["action"]), repr(decision.get("arguments"))
                done.setdefault((repr(sorted(pose.items())), *action), []).append(
                    number
                )
        repeats += [numbers[1] for numbers in done.values() if len(numbers) >= _REPEATS]
    return min(repeats, default=None)


def _has_wandered(written: Written, steps: Sequence[Written]) -> bool:
    """True if an actor made ten or more moves, and its path is over three times the net distance or
    a third of the moves led to places it had visited."""
    for actor in dict.fromkeys(str(step.get("actor")) for step in steps):
        places = [_place_of(pose) for pose in _poses(written, actor, steps)]
        moved = [b for a, b in pairwise(places) if b is not None and a != b]
        if len(moved) < _FEW_MOVES:
            continue
        if 3 * (len(moved) - len(set(moved))) >= len(moved):
            return True
        points = [p for p in places if isinstance(p, tuple)]
        if len(points) == len(places):
            length = sum(math.dist(a, b) for a, b in pairwise(points))
            if length > _DETOUR * math.dist(points[0], points[-1]):
                return True
    return False


def _place_of(pose: Mapping[str, Any]) -> tuple[float, float] | str | None:
    x = pose.get("x")
    y = pose.get("y")
    if isinstance(x, int | float) and isinstance(y, int | float):
        return round(x, 2), round(y, 2)
    return str(pose.get("viewpoint") or pose.get("panorama") or "") or None
