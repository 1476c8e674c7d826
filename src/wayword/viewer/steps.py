"""One step as a card: what was seen, asked, answered, decided, and what came of it."""

from __future__ import annotations

import base64
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from wayword.core.action import Decision, Rejection
from wayword.core.model import Choice, Completion, Image, Sampling, Usage
from wayword.core.trajectory import STATE, ModelCall, Note, Step, Verdict
from wayword.metrics.state_accuracy import claims
from wayword.viewer import figures
from wayword.viewer import words as seeing
from wayword.viewer.course import SHOWN_ELSEWHERE, SPOKEN, Clauses, Course
from wayword.viewer.letters import Letters
from wayword.viewer.maps.generic import place_of
from wayword.viewer.markup import Child, Html, join, tag
from wayword.viewer.words import Block, Piece, PromptHistory

# Model calls on an episode's page: prompts with what is new in them, answers, what they took.

_PICTURES = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"})
YES_OR_NO = frozenset({"yes", "no"})
_SEVERAL = 3
"""Questions of yes or no in one step from which a table tells them."""


class Calls:
    """The calls of one episode, in order: prompts are compared with the ones before."""

    def __init__(self) -> None:
        self._history = PromptHistory()
        self._when: list[str] = []

    def of_step(self, calls: Sequence[ModelCall], when: str) -> list[Html]:
        """All calls of a step; many questions of yes or no as a table, the calls folded below."""
        shown = [self.shown(call, when) for call in calls]
        table = _weighed(calls)
        if table is None:
            return shown
        title = tag("summary", f"{len(calls)} prompts", tag("span", _used(calls), class_="dim"))
        return [part("Weighed", table), tag("details", title, *shown, class_="prompt")]

    def shown(self, call: ModelCall, when: str) -> Html:
        """A call: its prompt, folded away, and its answer."""
        number = len(self._when)
        self._when.append(when)
        blocks = self._history.add(call.role, call.prompt)
        new = sum(len(p.text) for block in blocks for p in block.pieces if p.kind == "new")
        tokens = f"{count(call.answer.usage.prompt, 'token')}, " if call.answer else ""
        title = tag(
            "summary", tag("span", "Prompt"), " ",
            tag("span", f"{_to(call)}{tokens}{new:,} characters new", class_="dim"),
        )  # fmt: skip
        shown = [self._block(block, number, at) for at, block in enumerate(blocks)]
        prompt = tag("details", title, *shown, class_="prompt")
        return tag("div", prompt, _answer(call), class_="call")

    def _block(self, block: Block, call: int, at: int) -> Html:
        pieces = [self._piece(piece, at) for piece in block.pieces]
        role = tag("h4", block.role) if block.role else None
        text = tag("pre", *pieces, class_="text", data_call=call, data_block=at)
        return tag("div", role, text, *map(_picture, block.images), class_="message")

    def _piece(self, piece: Piece, at: int) -> Html:
        if piece.kind != "folded":
            return tag("span", piece.text, class_=piece.kind)
        words = f"{count(piece.count, 'line')} as in {self._when[piece.call]}"
        return tag(
            "button", words, type="button", class_="folded", data_call=piece.call,
            data_block=at, data_start=piece.start, data_count=piece.count,
        )  # fmt: skip


def part(title: str, *body: Child) -> Html:
    """A titled part of a card."""
    return tag("div", tag("h3", title), *body, class_="part")


def seconds(took: float) -> str:
    """``48.0 s``, ``12 ms``; a dash for a missing number."""
    if not math.isfinite(took):
        return "–"
    return f"{took:.1f} s" if took >= 0.1 else f"{1000 * took:.0f} ms"


def count(number: int, thing: str) -> str:
    """``3 steps``, ``1 step``."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _used(calls: Sequence[ModelCall]) -> str:
    used = sum((call.answer.usage for call in calls if call.answer is not None), Usage())
    return f"{used.prompt:,} tokens, {used.reused:,} of them reused"


def _weighed(calls: Sequence[ModelCall]) -> Html | None:
    """A row a question, with the probability of its yes; None for other calls."""
    rows = []
    for call in calls:
        answer = call.answer
        if not isinstance(answer, Choice) or set(answer.options) != YES_OR_NO or answer.reasoning:
            return None
        logprob = dict(zip(answer.options, answer.logprobs, strict=False)).get("yes", -math.inf)
        yes = math.exp(min(0.0, logprob)) if logprob == logprob else 0.0
        cells = tag("td", last_line(call)), tag("td", figures.share(yes)), tag("td", f"{yes:.1%}")
        rows.append(tag("tr", *cells, class_="taken" if yes > 0.5 else None))
    head = tag("tr", tag("th", "question"), tag("th", "yes", colspan=2))
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="small weighed")
    return table if len(calls) >= _SEVERAL else None


def _to(call: ModelCall) -> str:
    return "" if call.role == "main" else f"to {call.role}, "


def _answer(call: ModelCall) -> Html:
    if call.answer is None:
        return part("No answer", tag("p", call.error or "the call failed", class_="why"))
    answer = call.answer
    thoughts = [tag("pre", text, class_="said reasoning") for text in answer.reasoning if text]
    if isinstance(answer, Choice):
        ranked = part("Ranked", _question(call), figures.options(answer), _small(call, answer))
        return tag("div", part("Reasoning", *thoughts), ranked) if thoughts else ranked
    texts = [tag("pre", text, class_="said answer") for text in answer.texts]
    small = _small(call, answer)
    if not thoughts:
        return part("Answer", *texts, small)
    return tag("div", part("Reasoning", *thoughts), part("Answer", *texts, small))


LAST_LINE = 300
"""Characters of a prompt's last line that stand above its ranked answers, at most."""


def _question(call: ModelCall) -> Html | None:
    """The last line of a text prompt: what was asked, in view without opening the prompt."""
    line = last_line(call)
    return tag("p", line, class_="asked-last") if line else None


def last_line(call: ModelCall) -> str:
    """The last line of a text prompt, or its end."""
    line = call.prompt.rpartition("\n")[2].strip() if isinstance(call.prompt, str) else ""
    return line[-LAST_LINE:]


def _small(call: ModelCall, answer: Completion | Choice) -> Html:
    """The call's small print."""
    parts = [f"{count(answer.usage.completion, 'token')} written"]
    if answer.usage.reasoning:
        parts.append(f"{answer.usage.reasoning:,} of them in thought")
    if answer.usage.estimated:
        parts.append("tokens estimated: the server counts none")
    if isinstance(answer, Choice) and answer.picked:
        parts.append("one option written, not ranked: the server gives no log-probabilities")
    if answer.usage.reused:
        parts.append(f"{answer.usage.reused:,} prompt tokens reused")
    if isinstance(answer, Completion) and any(end != "stop" for end in answer.finish):
        parts.append(f"ended by {', '.join(answer.finish)}")
    parts.append(seconds(answer.seconds))
    parts.append("price unknown" if answer.cost is None else f"${answer.cost:.4f}")
    if answer.cached:
        parts.append("from the response cache")
    parts += _sampled(call.sampling, answer.unsent if isinstance(answer, Completion) else ())
    return tag("p", " · ".join(parts), class_="dim")


_FORMS = {"json_schema": "a JSON schema", "grammar": "a grammar", "choices": "a list of choices"}


def _sampled(sampling: Sampling | None, unsent: Sequence[str]) -> list[str]:
    """How the answer was sampled, as far as the model's server was told."""
    if sampling is None:
        return []
    bound = [
        f"{'told of' if name in unsent else 'held to'} {words}"
        for name, words in _FORMS.items()
        if getattr(sampling, name) is not None
    ]
    own = [name for name in unsent if name not in _FORMS]
    left = [f"{' and '.join(own)} not sent"] if own else []
    warm = [] if "temperature" in unsent else [f"temperature {sampling.temperature:g}"]
    return [*warm, *left, *bound]


def _picture(image: Image) -> Html:
    size = f"{len(image.data) / 1000:,.0f} kB, {image.media_type}"
    if image.media_type not in _PICTURES:
        return tag("p", f"a picture that is not shown ({size})", class_="dim")
    source = f"data:{image.media_type};base64,{base64.b64encode(image.data).decode()}"
    return tag("img", src=source, alt=f"picture in the prompt ({size})", loading="lazy")


_FEW_THINGS, _MOST_CHIPS = 6, 16
_NUMBERED = {"x", "y", "heading"}


def outcome(step: Step) -> str:
    """``ok``, ``rejected``, ``fallback`` (the recipe's own action for a rejected answer), ``odd``
    (carried out, but the world's answer was not ``ok``)."""
    if isinstance(step.decision, Rejection):
        return "rejected"
    if step.decision.fallback_for is not None:
        return "fallback"
    return "ok" if step.feedback.ok else "odd"


def label(step: Step) -> str:
    """The action, or what kind of answer was rejected."""
    if isinstance(step.decision, Rejection):
        return f"rejected: {step.decision.kind.replace('_', ' ')}"
    return step.decision.action.name if _speech(step) else str(step.decision.action)


def _speech(step: Step) -> str:
    """What was said to others, or empty."""
    action = step.decision.action if isinstance(step.decision, Decision) else None
    return action.arguments[0] if action and action.name in SPOKEN and action.arguments else ""


def _said(step: Step) -> Html | None:
    """What was said, and to whom."""
    words = _speech(step)
    if not words:
        return None
    to = step.feedback.details.get("to")
    heard = f" to {', '.join(map(str, to))}" if isinstance(to, list | tuple) and to else ""
    return part(f"Said{heard}", tag("p", tag("bdi", words), class_="speech"))


def _heard(step: Step) -> Html | None:
    """What others had said since the actor's last turn."""
    told = seeing.as_mapping(step.observation).get("messages")
    messages = [seeing.as_mapping(each) for each in told] if isinstance(told, list | tuple) else []
    lines = [
        tag("p", tag("b", str(each.get("sender", ""))), " ", tag("bdi", str(each.get("text", ""))))
        for each in messages
    ]
    return part("Heard", tag("div", *lines, class_="speech")) if lines else None


class Cards:
    """The cards of one episode, in order.

    ``actors`` are named where there are several. ``around`` says what there is at the place of an
    observation, for agents that asked no model. ``trial`` is that of an earlier trial, from 1; 0
    stands for the one that counts, whose steps alone the page's keys and map go by. ``ask`` is
    the query that names the episode to a server; empty in files. ``course`` is how near to success
    the trial that counts was, and ``clauses`` which part of its instruction each step follows.
    ``letters`` are the short names of places, ``poses`` each actor's before its next step.
    """

    def __init__(self, several: bool, ask: str = "", letters: Letters | None = None) -> None:
        self._several, self.ask, self._letters = several, ask, letters or Letters()
        self.trial, self.course, self.clauses = 0, Course(), Clauses()
        self._calls = Calls()
        self._met: dict[str, set[str]] = {}
        self.poses: dict[str, Any] = {}

    def opening(self, calls: Sequence[ModelCall], notes: Sequence[Note]) -> Html | None:
        """What was asked before the first step, or None."""
        if not calls and not _shown(notes):
            return None
        body = [*(self._calls.shown(call, "the opening") for call in calls), _notes(notes)]
        head = tag("header", tag("h2", "Opening"), tag("span", "before the first step"))
        return tag("section", head, *body, class_="card", id=self._id("opening"))

    def closing(
        self, calls: Sequence[ModelCall], notes: Sequence[Note], verdict: Verdict | None
    ) -> Html | None:
        """What was told and asked after a trial, or None for the last of them."""
        if verdict is None:
            return None
        told = {True: "told: it succeeded", False: "told: it failed", None: "nothing told"}
        body = [*(self._calls.shown(call, "the reflection") for call in calls), _notes(notes)]
        head = tag("header", tag("h2", "Verdict"), tag("span", told[verdict.succeeded]))
        return tag("section", head, *body, class_="card", id=self._id("verdict"))

    def step(self, number: int, step: Step, around: Html | None) -> Html:
        """Step ``number``, counted from 1 over all actors."""
        kind = outcome(step)
        who = tag("span", step.actor, class_="chip") if self._several else None
        head = tag(
            "header",
            tag("h2", tag("a", f"Step {number}", href=f"#{self._id(f'step-{number}')}")),
            who,
            tag("b", label(step), class_=f"badge {kind}"),
            None if self.trial else join([_led(self.course, number), self.clauses.chip(number)]),
            tag("span", _took(step), class_="dim"),
        )
        when = f"step {number}" + (f" of trial {self.trial}" if self.trial else "")
        parts = [
            *_decided(step),
            _said(step),
            part("Outcome", _came_of_it(step)),
            _heard(step),
            self._seen(step, around),
            *self._calls.of_step(step.calls, when),
            self._claims(step),
            _notes(step.notes),
            self._tools(number),
        ]
        if self.trial:
            name = self._id(f"step-{number}")
            return tag("section", head, *parts, class_=f"card past {kind}", id=name)
        return tag(
            "section", head, *parts, class_=f"card step {kind}", id=f"step-{number}",
            data_step=number, tabindex=-1, **self.clauses.marks(number),
        )  # fmt: skip

    def _claims(self, step: Step) -> Html | None:
        """What the actor stated of itself in this step, beside the truth."""
        before = seeing.as_mapping(self.poses.get(step.actor, {}))
        self.poses[step.actor] = step.pose
        rows = [
            tag(
                "tr", tag("th", claim.about, scope="row"),
                tag("td", _stated(claim.about, claim.stated)),
                tag("td", tag("b", "✓ right", class_="ok") if claim.right
                    else join([tag("b", "✗ ", class_="odd"), _stated(claim.about, claim.true)])),
            )
            for note in step.notes
            if note.kind == STATE
            for claim in claims(seeing.as_mapping(note.details), before, step.observation)
        ]  # fmt: skip
        table = tag("table", tag("tbody", *rows), class_="small claims")
        return part("Says of itself, and the truth", table) if rows else None

    def _seen(self, step: Step, around: Html | None) -> Html:
        """What was seen, folded away where it is much, and what of it is new to the actor."""
        held = seeing.as_mapping(step.observation)
        names = seeing.things_in(held)
        met = self._met.setdefault(step.actor, set())
        fresh = [name for name in names if name not in met]
        met.update(names)
        words = f"Saw {count(len(names), 'thing')}, {len(fresh)} new" if names else "Saw"
        chips = [tag("span", name, class_="chip new") for name in fresh[:_MOST_CHIPS]]
        more = tag("span", f"and {len(fresh) - len(chips)} more", class_="dim")
        folded = len(names) > _FEW_THINGS or "depth" in held
        inside = tag(
            "details", tag("summary", words), join([self._saw(step), around]), open=not folded
        )
        shown = tag("p", *chips, more if len(fresh) > len(chips) else None)
        return tag("div", inside, shown if folded and chips else None, class_="part")

    def _saw(self, step: Step) -> Html:
        taken = place_of(step.pose) if isinstance(step.decision, Decision) else ""
        return seeing.observation(step.observation, taken, self._letters)

    def _tools(self, number: int) -> Html | None:
        """What the server has to say of a step, when asked; nothing in pages that are files."""
        if not self.ask or self.trial:
            return None
        kinds = (("raw", "Raw JSON"), ("continue", "Continue from here"))
        where = f"{self.ask}&step={number}"
        asked = [
            tag("button", words, type="button", class_="press ask", data_ask=f"{kind}{where}")
            for kind, words in kinds
        ]
        play = tag(
            "button", "Play on from here", type="button", class_="press playon",
            data_ask=self.ask, data_step=number,
        )  # fmt: skip
        return tag("div", *asked, play, class_="tools")

    def _id(self, name: str) -> str:
        return f"trial-{self.trial}-{name}" if self.trial else name


def _stated(about: str, value: Any) -> Html | str:
    """A claim in words: ``north``, ``nothing``; a dash where nothing was stated."""
    if value is None:
        return "not stated"
    if isinstance(value, list | tuple) and not value:
        return "nothing"
    return seeing.shown(value, about)


def _led(course: Course, number: int) -> Html | None:
    """How near to success a step led."""
    words, change = course.told(number), course.change(number)
    kind = "led worse" if change < 0 else "led better" if change > 0 and course.of else "led"
    return tag("span", words, class_=kind) if words else None


def _took(step: Step) -> str:
    used = sum((call.answer.usage for call in step.calls if call.answer is not None), Usage())
    parts = [f"{used.prompt:,} + {used.completion:,} tokens"] if step.calls else []
    return " · ".join([*parts, seconds(step.seconds)])


def _decided(step: Step) -> list[Html]:
    """The thought, and what is not in the card's head: why an answer was rejected."""
    decision = step.decision
    parts = [part("Thought", tag("p", decision.thought, class_="thought"))]
    parts = parts if decision.thought.strip() else []
    if isinstance(decision, Rejection):
        return [*parts, part("Rejected", _rejection(decision))]
    if decision.fallback_for is not None:
        why = _rejection(decision.fallback_for)
        parts.append(part("Rejected", why))
        told = tag("p", tag("code", str(decision.action)), " by the recipe's own fallback")
        return [*parts, part("Decision", told)]
    return parts


def _rejection(rejection: Rejection) -> Html:
    said = tag("pre", rejection.said, class_="said") if rejection.said else None
    kind = tag("b", rejection.kind.replace("_", " "))
    return tag("div", tag("p", kind, ": ", rejection.reason), said, class_="why")


def _came_of_it(step: Step) -> Html:
    status = tag("b", step.feedback.status, class_="ok" if step.feedback.ok else "odd")
    where = seeing.facts({"now at": _brief(step.pose)})
    told = {k: _runs(v) for k, v in step.feedback.details.items() if not _known(step, k, v)}
    return tag("div", status, seeing.facts(told), where, class_="outcome")


def _known(step: Step, key: str, value: Any) -> bool:
    """Whether the card's head or the pose says it already."""
    action = step.decision.action if isinstance(step.decision, Decision) else None
    said = (action.name, *action.arguments) if action else ()
    turned = key in ("heading", "heading_before") and "heading" in step.pose
    return turned or (key in _SAID and value in said)


_SAID = ("action", "executed", "place", "thing", "to")
"""Details of feedback that often repeat the action."""


def _runs(value: Any) -> Any:
    """``move_ahead × 5, turn_left`` for a list of words that repeats itself."""
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
        return value
    runs = ((word, len(list(same))) for word, same in itertools.groupby(value))
    return [word if count == 1 else f"{word} × {count}" for word, count in runs]


def _brief(where: Any) -> Any:
    """A place as ``d800c0, facing 36° north-east`` or ``kitchen (2.0, 1.5), facing …``, else as
    it is."""
    place = place_of(where)
    if isinstance(where, Mapping) and set(where) >= _NUMBERED:
        x, y, room = where["x"], where["y"], where.get("room", "")
        if isinstance(x, int | float) and isinstance(y, int | float):
            place = f"{room} ({x:.4g}, {y:.4g})".replace("_", " ").strip()
    place = place or (
        str(where["place"]) if isinstance(where, Mapping) and "place" in where else ""
    )
    if place and set(where) == {"place"}:
        return place
    heading = where.get("heading") if place else None
    if isinstance(heading, int | float):
        return f"{place}, facing {seeing.shown(heading, 'heading')}"
    return where


def _shown(notes: Sequence[Note]) -> list[Note]:
    return [note for note in notes if note.kind not in SHOWN_ELSEWHERE | {STATE}]


def _notes(notes: Sequence[Note]) -> Html | None:
    if not (notes := _shown(notes)):
        return None
    items = [
        tag("li", tag("b", note.kind.replace("_", " ")), seeing.facts(note.details))
        for note in notes
    ]
    return part("Notes", tag("ul", *items, class_="notes"))
