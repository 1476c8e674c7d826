"""plan_search: tries actions in copies of the home before it takes the best sequence (LATS, RAP).

    wayword run plan_search --on household --model openai:gpt-5-mini

A Monte Carlo tree search: one model call proposes the next actions from a state, each is carried
out in a copy of the game, and a second call rates the results. The best sequence is then carried
out until it ends or a result differs from the copy's.

The copies are the simulator itself, so they know what the agent has not seen. Tables mark its runs
like those of oracles; it is not shown the answer.

Source: LATS (Zhou et al. 2024), section 4; RAP (Hao et al. 2023), section 3, whose world model is
the language model.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge

from wayword.agents.answers import AnswerForm, Field, Reply, pattern
from wayword.agents.legal import Legal
from wayword.agents.prompting import PromptSettings, joined
from wayword.agents.strategies.strategy import AnyWorldAgent
from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import MakePlan, Toolkit
from wayword.core.episode import Json, Reference
from wayword.core.game import Game
from wayword.core.perceiver import Perceiver
from wayword.core.world import Feedback, Observation, World
from wayword.verbalize import generic

HIGHEST = 10  # rating of a result that leaves nothing to do
Positive = Annotated[int, Ge(1)]


@dataclass(slots=True, eq=False)
class TreeNode:
    """A copy of the game after some actions, with its search statistics.

    ``value`` is its rating in [0, 1]; ``total`` sums the ratings of the ``visits`` below it.
    """

    game: Game
    parent: TreeNode | None = None
    action: Action = STOP
    feedback: Feedback = field(default_factory=Feedback)
    value: float = 0.0
    total: float = 0.0
    visits: int = 0
    children: list[TreeNode] = field(default_factory=list)
    is_closed: bool = False

    def path(self) -> list[TreeNode]:
        """Return the nodes from the root to this one, without the root."""
        if self.parent is None:
            return []
        return [*self.parent.path(), self]

    def below(self) -> Iterator[TreeNode]:
        """Yield all descendants, depth first."""
        for child in self.children:
            yield child
            yield from child.below()


@dataclass(frozen=True)
class PlanSearchSettings(PromptSettings):
    """Settings of the search, in addition to those of all prompts.

    ``decoding``: ``constrained`` (JSON answers with actions of the right form) or ``free``
    (labeled lines). ``width``: actions tried from a state. ``depth``: actions ahead. ``calls``:
    model calls per search, two per expanded state. ``exploration``: the weight of rarely tried
    states; 0 always expands the best one. An answer may take 400 tokens by default. With a small
    local model, ``width`` is 2, ``depth`` 3 and ``calls`` 4 by default.
    """

    decoding: Literal["constrained", "free"] = "constrained"
    width: Positive = 3
    depth: Positive = 6
    calls: Positive = 12
    exploration: Annotated[float, Ge(0.0)] = 0.5


class PlanSearch(AnyWorldAgent):
    """Searches for actions in copies of the home before it acts (LATS, RAP). Uses the simulator."""

    Settings = PlanSearchSettings
    families = frozenset({"household"})
    sees_answer = True
    answer_tokens = 400
    page = "plan_search.jinja"
    small_model: ClassVar[Mapping[str, Json]] = {"width": 2, "depth": 3, "calls": 4}

    @classmethod
    def caveats(cls, settings: Any, perceiver: Perceiver | None) -> tuple[str, ...]:
        """Name the setting in reports: trying actions is more than agents usually may."""
        return ("uses the simulator: actions are tried in copies of the world",)

    def __init__(self, settings: PlanSearchSettings, toolkit: Toolkit) -> None:
        super().__init__(settings, toolkit)
        self._path: list[TreeNode] = []
        self._expected: Feedback | None = None
        self._world: World
        self._fixed = ""

    def reveal(self, reference: Reference, world: World, plan: MakePlan) -> None:
        """Keep the world, in copies of which actions are tried."""
        self._world = world

    async def act(
        self, observation: Observation, space: ActionSpace
    ) -> Decision | Rejection:
        """Return the next action of the plan; search again when it is used up or surprised.

        The best node has the highest rating and, among equals, the shortest path.
        """
        # on_feedback() drops the path once the world reacts unlike its copy.
        if self._path:
            node = self._path.pop(0)
            self._expected = node.feedback
            return Decision(node.action)
        if not self._fixed:
            self._verbalizer = generic.verbalizer(observation)
            self._actor = str(getattr(observation, "actor", self._episode.actors[0]))
            self._fixed = self._system_text(space)
        root = TreeNode(Game(self._world).clone())
        refused = await self._search(root)
        if not root.children:
            return refused or Rejection("no_action", "no action was proposed")

        def rank(node: TreeNode) -> tuple[float, int]:
            return node.value, -len(node.path())

        nodes = list(root.below())
        best = max(nodes, key=rank)
        first, *self._path = best.path()
        self._expected = first.feedback
        tried = len(nodes)
        actions = [str(node.action) for node in best.path()]
        thought = (
            f"Tried {tried} actions; best, rated {best.value:.2f}: {'; '.join(actions)}"
        )
        return Decision(first.action, thought)

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        """Add the result to the history; a surprise ends the plan."""
        self._steps.taken += 1
        line = generic.feedback(feedback, self._verbalizer)
        if isinstance(decision, Decision):
            line = f"{decision.action}: {line}"
        self._history.add(line)
        if feedback != self._expected:
            self._path = []

    async def _search(self, root: TreeNode) -> Rejection | None:
        """Grow the tree within the budget. Return the last answer's rejection, if there is one.

        A state is closed if its game is over, at the greatest depth, or if all below it
        are closed.
        """
        refused = None
        # Two calls expand a node: one proposes actions, one rates their results.
        for _ in range(max(1, self._settings.calls // 2)):
            node = root
            while node.children:
                node = max(node.children, key=self._priority)
            if node.is_closed:
                break
            refused = await self._expand(node) or refused
            # Without a legal proposal, the same question would come again.
            node.is_closed = not node.children
            # A node without children counts its visit, so the search turns elsewhere.
            for end in node.children or [node]:
                end.is_closed |= not end.game.active(self._actor)
                end.is_closed |= len(end.path()) >= self._settings.depth
                for above in (*reversed(end.path()), root):
                    above.visits += 1
                    above.total += end.value
                    children = above.children
                    if children and all(child.is_closed for child in children):
                        above.is_closed = True
        return refused

    def _priority(self, node: TreeNode) -> float:
        """Return the upper confidence bound of a state, below all others if it is closed.

        Source: UCT (Kocsis and Szepesvári 2006); the weight is the setting
        ``exploration``.
        """
        if node.is_closed or node.parent is None:
            return -math.inf
        rarity = math.sqrt(math.log(node.parent.visits) / node.visits)
        bonus: float = self._settings.exploration * rarity
        return node.total / node.visits + bonus

    async def _expand(self, node: TreeNode) -> Rejection | None:
        """Ask the model for actions at a node, and try each in a copy of its game.

        Another call rates the results. Returns a rejection if no legal action was
        proposed; a result without a rating gets 0.
        """
        game = node.game
        width = self._settings.width
        space = game.space(self._actor)
        spoken = tuple(verb for verb in space.open_verbs if verb == STOP.name)
        space = ActionSpace(space.listed, spoken, space.accepts)
        reply, proposed = await self._ask(
            node, "search_actions", pattern(space), 1, width, width=width, results=""
        )
        read = [Legal(space).read(words) for words in proposed]
        # Models propose the same action twice, or more actions than asked for.
        distinct = dict.fromkeys(read)
        legal = [action for action in distinct if isinstance(action, Action)]
        legal = legal[:width]
        if not legal:
            reason = "no legal action was proposed"
            return reply.unreadable() or reply.reject("no_action", reason)
        for action in legal:
            copy = game.clone()
            _, feedback = copy.carry_out(self._actor, Decision(action))
            node.children.append(TreeNode(copy, node, action, feedback))
        results = list[str]()
        for number, child in enumerate(node.children, 1):
            words = generic.feedback(child.feedback, self._verbalizer)
            view = ""
            if child.game.active(self._actor):
                view = self._view(child)
            results.append(joined(f"{number}. {child.action}: {words}", view, gap="\n"))
        _, rated = await self._ask(
            node,
            "search_ratings",
            "^(10|[0-9])$",
            least=len(legal),
            most=len(legal),
            results="\n".join(results),
        )
        numbers = re.findall(r"\d+(?:\.\d+)?", " ".join(rated))
        # A child without a rating keeps 0, and surplus ratings have no child.
        for child, number in zip(node.children, numbers, strict=False):
            child.value = min(float(number), HIGHEST) / HIGHEST
        return None

    def _view(self, node: TreeNode) -> str:
        """Return what the actor perceives at a node, as text."""
        observation = node.game.observation(self._actor)
        voice = self._verbalizer
        around = voice.around(observation, self._toolkit.perceiver)
        return joined(voice.self_state(observation)[1], around, gap="\n")

    async def _ask(
        self,
        node: TreeNode,
        prompt: str,
        items: str,
        least: int,
        most: int,
        **slots: object,
    ) -> tuple[Reply, Sequence[str]]:
        """Ask about a state. Return the reply, and its list of items that match a pattern."""
        about = self._prompts[prompt]
        label = prompt.removeprefix("search_").capitalize()
        form = AnswerForm(
            Field(label, about, pattern=items, many=True, least=least, most=most)
        )
        # Steps in the copy are shown like real ones: the question is about their end.
        steps = node.path()
        tried = [
            f"{n.action}: {generic.feedback(n.feedback, self._verbalizer)}"
            for n in steps
        ]
        reply = await self._fill_in(
            form,
            self._fixed,
            tried,
            view=self._view(node),
            left=self._steps.left(len(steps)),
            form=form.request(self._constrained),
            **slots,
        )
        answer = form.read(reply.text) or {}
        return reply, list(answer.get(label.lower(), []))


agent = PlanSearch
