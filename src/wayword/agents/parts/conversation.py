"""A history that only grows, and a token budget that drops whole steps from its far end.

Prompts that extend each other let a server or the local model reuse what it has already read, so
a step is written once and never rewritten. When the budget forces a cut, half of the steps go at
once: the next cut, and with it the next loss of the shared prefix, is then far away.
"""

from __future__ import annotations

from collections.abc import Sequence

from wayword.core.agent import Toolkit
from wayword.core.model import Message, system, user, window_of

USUAL_CONTEXT = 7000
"""Tokens of a prompt where neither a setting nor the model says how many."""
ROOMY_ANSWER = 2000
"""Tokens of an answer that is enough for any thought; models of a large window get no more."""


class History:
    """The past of one episode as text blocks, oldest first."""

    def __init__(self) -> None:
        self._blocks: list[str] = []
        self.dropped = 0

    def add(self, block: str) -> None:
        """Append one step."""
        self._blocks.append(block)

    @property
    def blocks(self) -> list[str]:
        """The steps that are still told."""
        return self._blocks[self.dropped :]

    def fit(self, characters: int) -> int:
        """Drop the oldest steps until the rest has at most ``characters``; how many went."""
        before = self.dropped
        while self.blocks and sum(map(len, self.blocks)) > characters:
            self.dropped += max(1, len(self.blocks) // 2)
        return self.dropped - before


class TokenRate:
    """Characters a token, learnt from what the model itself counted; 3 until it has counted."""

    def __init__(self) -> None:
        self.characters_per_token = 3.0

    def learn(self, characters: int, tokens: int) -> None:
        """Take a counted prompt into account."""
        if tokens > 0 and characters > 0:
            self.characters_per_token = characters / tokens


def context_tokens(given: int, toolkit: Toolkit, usual: int = USUAL_CONTEXT) -> int:
    """Tokens that a prompt may take: the setting, else by the main model's window.

    An eighth of the window is left free for the answer, and because tokens are only estimated
    before the model has counted some.
    """
    main = toolkit.models.get("main")
    window = window_of(main) if main is not None else 0
    return given or window * 7 // 8 or usual


def answer_tokens(given: int, toolkit: Toolkit, usual: int) -> int:
    """Tokens that an answer may take: the setting, else a 32nd of the main model's window, but at
    least ``usual`` and at most ``ROOMY_ANSWER``."""
    main = toolkit.models.get("main")
    window = window_of(main) if main is not None else 0
    return given or max(usual, min(ROOMY_ANSWER, window // 32))


def window_known(given: int, toolkit: Toolkit) -> bool:
    """Whether a setting or the model itself says how many tokens a prompt may take."""
    main = toolkit.models.get("main")
    return bool(given or (main is not None and window_of(main)))


# A chat that only grows: what was said is never rewritten, so a model can reuse what it has read.
#
# Where the budget forces a cut, whole steps go, half of them at once, as
# :class:`~wayword.agents.parts.conversation.History` has it.

Turn = tuple[str, str]
"""What the agent was told, and what it answered."""

FRAME = 24
"""Characters that a chat template adds to a message, about."""


def assistant(content: str) -> Message:
    """A message of the agent's own."""
    return Message("assistant", content)


class Conversation:
    """One episode as messages: system, turns of examples, the opening, one turn a step.

    ``opening`` stands before the oldest turn that is still told, in the same message, so that the
    roles always take turns.
    """

    def __init__(self, fixed: str, opening: str, examples: Sequence[Turn] = ()) -> None:
        self._fixed, self._opening = fixed, opening
        self.examples = list(examples)
        self.turns: list[Turn] = []
        self._history = History()

    def add(self, told: str, said: str) -> None:
        """Append a finished step."""
        self.turns.append((told, said))
        self._history.add(told + said + " " * (2 * FRAME))

    @property
    def dropped(self) -> int:
        """Steps that are no longer told."""
        return self._history.dropped

    def fit(self, characters: int, now: str) -> int:
        """Drop steps until the prompt that ends in ``now`` fits; how many went."""
        shown = sum(len(told) + len(said) + 2 * FRAME for told, said in self.examples)
        around = len(self._fixed) + len(self._opening) + len(now) + shown + 3 * FRAME
        return self._history.fit(max(0, characters - around))

    def messages(self, now: str, gap: str = "") -> list[Message]:
        """The prompt. ``gap`` says that steps were left out, where they were."""
        turns = self.turns[self.dropped :]
        told = [*(told for told, _ in turns), now]
        said = [said for _, said in turns]
        told[0] = "\n\n".join(part for part in (self._opening, gap, told[0]) if part)
        chat = [system(self._fixed)]
        for shown, answer in self.examples:
            chat += [user(shown), assistant(answer)]
        for here, answer in zip(told[:-1], said, strict=True):
            chat += [user(here), assistant(answer)]
        return [*chat, user(told[-1])]
