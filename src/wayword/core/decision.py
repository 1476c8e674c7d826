"""Decision or Rejection: what an agent's answer amounted to.

A rejection is a value. It is counted, shown, and fed back to the agent; it is never quietly
replaced by a default action. Where a paper's recipe has a fallback (VELMA: forward; LGX: a random
direction), the decision carries the rejection that led to it.
"""

from __future__ import annotations

from dataclasses import dataclass

from wayword.core.action import Action

RejectionKind = str
"""``empty`` · ``no_action`` · ``several_actions`` · ``unknown`` · ``illegal`` · ``too_long``."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """An answer that is no action: what was said, and why it does not count.

    ``kind`` is one of ``empty``, ``no_action`` (prose without an action), ``several_actions``,
    ``unknown`` (no such action or ID), ``illegal`` (exists, but not from here) and ``too_long``.
    """

    kind: RejectionKind
    reason: str
    said: str = ""
    thought: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """An action, with the thought that led to it.

    ``fallback_for`` holds the rejected answer where the recipe's stated fallback chose the action.
    """

    action: Action
    thought: str = ""
    fallback_for: Rejection | None = None
