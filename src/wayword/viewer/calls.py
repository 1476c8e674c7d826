"""Model calls on an episode's page: prompts with what is new in them, answers, what they took."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence

from wayword.core.model import Choice, Completion, Image, Sampling, Usage
from wayword.core.trajectory import ModelCall
from wayword.viewer import figures
from wayword.viewer.markup import Child, Html, tag
from wayword.viewer.words import Block, Piece, PromptHistory

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


_FORMS = {
    "json_schema": "a JSON schema",
    "grammar": "a grammar",
    "choices": "a list of choices",
}


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
