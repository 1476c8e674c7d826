"""The page of one episode, rendered from its JSON document.

A prompt repeats most of the previous one, so a page with all of them in full would grow with the
square of the steps. A long passage and a series of messages that repeat an earlier prompt are
therefore references to it, which the page's script fills in on demand.
"""

from __future__ import annotations

import base64
import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from wayword.core.episode import Json, JsonObject
from wayword.core.metric import Metric
from wayword.core.trajectory import CLAUSES, FOLLOWED, GROUNDED, STATE, Note
from wayword.core.visible import count
from wayword.metrics import accounting
from wayword.metrics.detector_reports import DetectorReport
from wayword.metrics.recorded import (
    SPOKEN,
    as_mapping,
    finite,
    listed,
    objects_in,
    place_of,
)
from wayword.metrics.state_accuracy import claims
from wayword.runs.codec import restore
from wayword.viewer import figures
from wayword.viewer.markup import Html, Letters, page, render, template_function

Written = JsonObject
"""A part of a trajectory as a run folder holds it."""


class Links(NamedTuple):
    """Addresses around an episode's page: the pages before and after (empty if there is
    none) and the run's page.

    ``ask`` is the query that identifies the episode to the server.
    """

    before: str = ""
    after: str = ""
    up: str = "../index.html"
    ask: str = ""


def episode_page(
    document: JsonObject,
    metrics: Sequence[Metric],
    run: str,
    links: Links,
    served: bool = False,
) -> str:
    """Render the page of a document (``wayword.viewer.document``).

    ``metrics`` are those of the run, in the order in which they are shown; ``run`` is
    its name. A ``served`` page can request more from the server, a written one cannot.
    Raises ``LookupError``, ``TypeError`` or ``ValueError`` for a document that lacks
    parts.
    """
    # From JSON to the values that the templates read: arrays, and NaN for missing numbers.
    document = restore(document)
    trajectory = document["trajectory"]
    scores = document["scores"]
    steps = trajectory["steps"]
    _fill_pictures(trajectory, document.get("pictures", {}))
    letters = Letters(document["letters"])
    # Runs may have metrics that this episode has no score for.
    present = [metric for metric in metrics if metric.key in scores]
    family = [metric for metric in present if metric not in accounting.METRICS]
    # Zeros are results too: next to a failed search, "within 2 m: 100%" alone would read as one.
    first = family[:_SCORES]
    first += [
        metric for metric in present if metric.key in _ACCOUNT and scores[metric.key]
    ]
    others = [metric for metric in present if metric not in first]
    main = render(
        "episode.html",
        document=document,
        trajectory=trajectory,
        steps=steps,
        cards=_Cards(trajectory, letters),
        ask=links.ask if served else "",
        scores=scores,
        first=first,
        figure=Html(document["map"] or ""),
        others=others,
        usage=_usage(steps),
        curve=curve_of(document["progress"], len(steps)),
        tall=CURVE,
        actors=list(dict.fromkeys(step["actor"] for step in steps)),
        sketch=sketch_of(document.get("retold") or {}),
    )
    return page(
        "episode_page.html",
        "episode",
        served,
        name=document["id"],
        run=run,
        links=links,
        main=letters.over(main),
        advice=document["advice"],
    )


_SCORES = 4
"""Metrics of the family that are in view; the others are folded, as is most of the account."""
_ACCOUNT = ("steps", "rejections", "calls", "cost")
_FLAT = 0.05  # change, as a part of the largest value, below which no curve is drawn
CURVE = 34
"""Height of the curve in the drawing of time, which is 1000 units wide."""


def curve_of(progress: JsonObject, steps: int) -> tuple[str, str]:
    """Return the points of the curve of progress as an SVG polyline, and its title.

    ``progress`` is that of a document, with a value before each of the ``steps`` and
    after the last. The distance to the goal falls, the number of conditions met rises;
    both are drawn so that up is better. Empty if the curve is flat.
    """
    # A recording that could not be played again has no course.
    if not progress["informative"] or len(progress["course"]) != steps + 1:
        return "", ""
    course = progress["course"]
    conditions = progress["conditions"]
    width = 1000 / steps
    most = conditions or max(course) or 1.0
    if max(course) - min(course) < _FLAT * most:
        return "", ""
    heights = [2 + CURVE * (1 - value / most) for value in course]
    points = []
    if conditions:
        title = "goal conditions met"
        # A condition comes to hold at the end of a step, not in its course: a staircase.
        for number, (before, after) in enumerate(itertools.pairwise(heights)):
            start = number * width
            end = start + width
            points += [(start, before), (end, before), (end, after)]
    else:
        title = "distance to the goal"
        if progress.get("straight"):
            title = "straight distance to the goal"
        for number, height in enumerate(heights):
            points.append((number * width, height))
    curve = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return curve, f"{title}, up to {most:.3g}"


SKETCH = 320
"""Longer side of the drawing of a retold walk."""
_MARGIN = (
    12  # around the walks, in the drawing's units: room for the markers at their ends
)
_MOST_PLACES = 1_000  # a file from elsewhere may have any number


def sketch_of(retold: JsonObject) -> tuple[str, str, str]:
    """Return the size of a drawing, and the points of the true and the drawn walk on it.

    ``retold`` has both walks as (east, north) in metres, in the same order. Seen from
    above with north up. Empty without a drawing, and for walks that do not match.
    """
    true = retold.get("true") or ()
    drawn = retold.get("drawn") or ()
    if not 2 <= len(true) <= _MOST_PLACES or len(drawn) != len(true):
        return "", "", ""
    easts = [east for east, _ in (*true, *drawn)]
    norths = [north for _, north in (*true, *drawn)]
    wide = max(easts) - min(easts)
    tall = max(norths) - min(norths)
    # A walk on one spot has no extent.
    scale = (SKETCH - 2 * _MARGIN) / (max(wide, tall) or 1.0)

    west = min(easts)
    top = max(norths)

    def points(places: Sequence[tuple[float, float]]) -> str:
        written = []
        for east, north in places:
            x = _MARGIN + (east - west) * scale
            y = _MARGIN + (top - north) * scale
            written.append(f"{x:.1f},{y:.1f}")
        return " ".join(written)

    width = 2 * _MARGIN + wide * scale
    height = 2 * _MARGIN + tall * scale
    return f"{width:.0f} {height:.0f}", points(true), points(drawn)


def _usage(steps: Sequence[Written]) -> list[tuple[int, float, str]]:
    """Return the steps with calls: number, height of the bar of tokens, and its title."""
    used = []
    for number, step in enumerate(steps, 1):
        calls = step.get("calls", ())
        answers = [call["answer"] for call in calls if "answer" in call]
        tokens = 0
        for answer in answers:
            tokens += _tokens(answer, "prompt")
            tokens += _tokens(answer, "completion")
        # A call without an answer, or one that was not recorded, has no bar.
        if not tokens:
            continue
        title = f"{tokens:,} tokens"
        costs = [answer["cost"] for answer in answers if "cost" in answer]
        if len(costs) == len(answers):  # else the sum would look like the whole price
            title += f", ${sum(costs):.4f}"
        # A record may hold NaN for a time that was not measured.
        times = [answer["seconds"] for answer in answers]
        took = sum(seconds for seconds in times if math.isfinite(seconds))
        used.append((number, tokens, f"{title}, {took:.1f} s of calls"))
    most = max((tokens for _, tokens, _ in used), default=1)
    bars = []
    for number, tokens, title in used:
        # The highest bar is 16 units tall, and every bar can be seen.
        height = max(1.0, 16 * tokens / most)
        bars.append((number, height, title))
    return bars


def _tokens(answer: Written, kind: str) -> int:
    """Return an answer's number of ``prompt`` or ``completion`` tokens, 0 if not recorded."""
    return int(answer.get("usage", {}).get(kind, 0))


# The new passages of a prompt, and references to the earlier ones.

FOLD = 6
"""Shared passages of this many lines or more are folded away."""
FOLDED_MESSAGES = 3
"""Series of this many messages or more that an earlier prompt has are folded away."""
_HEAD = 64  # characters of a prompt's opening that tell one kind of prompt from another
_MOST = 1500  # longer differences count as new throughout, without a comparison by line


class Piece(NamedTuple):
    """A passage of a prompt.

    ``kind`` is ``new``, the ``same`` as in an earlier prompt, or ``folded``: instead of
    a text, ``lines`` lines of block ``block`` of call ``call``, from line ``start``
    (from 0).
    """

    kind: str
    text: str = ""
    call: int = 0
    block: int = 0
    start: int = 0
    lines: int = 0


class Block(NamedTuple):
    """A message, the ``number``-th of its prompt (from 0); a raw text prompt is a single block
    without a role."""

    number: int
    role: str
    pieces: tuple[Piece, ...]
    images: Sequence[Written] = ()


class Repeated(NamedTuple):
    """A series of messages of an earlier prompt, instead of blocks.

    They are ``messages`` messages from the ``number``-th on (from 0) of their prompt, the same as
    those from the ``start``-th on of call ``call``.
    """

    number: int
    messages: int
    call: int
    start: int


class _Message(NamedTuple):
    role: str
    text: str
    images: Sequence[Written] = ()


class PromptHistory:
    """Prompts of one episode in the order of its calls.

    Each is compared with the previous one of the same actor, role and opening, which
    differs least.
    """

    def __init__(self) -> None:
        self._latest: dict[tuple[str, str, str], tuple[int, list[_Message]]] = {}
        self._count = 0

    def add(
        self, role: str, prompt: Json, actor: str = ""
    ) -> tuple[Block | Repeated, ...]:
        """Add a recorded prompt sent to the model of ``role``, and return its blocks.

        The number of a call, which references have, is the number of prompts added
        before.
        """
        if isinstance(prompt, str):
            messages = [_Message("", prompt)]
        else:
            messages = []
            for each in prompt:
                images = each.get("images", ())
                messages.append(_Message(each["role"], _text_of(each), images))
        opening = messages[0].text[:_HEAD] if messages else ""
        key = (actor, role, opening)
        # The previous prompt of the same kind differs least.
        call, earlier = self._latest.get(key, (0, []))
        self._latest[key] = self._count, messages
        self._count += 1
        sources = _sources(earlier, messages)
        blocks: list[Block | Repeated] = []
        number = 0
        while number < len(messages):
            message = messages[number]
            start = sources[number]
            length = _repeated(earlier, start, messages, number)
            if length >= FOLDED_MESSAGES:
                blocks.append(Repeated(number, length, call, start))
                number += length
                continue
            new = split_lines(message.text)
            pieces: tuple[Piece, ...] = (Piece("new", message.text),)
            if start < len(earlier) and earlier[start].role == message.role:
                base = split_lines(earlier[start].text)
                pieces = tuple(_pieces(base, new, call, start))
            blocks.append(Block(number, message.role, pieces, message.images))
            number += 1
        return tuple(blocks)


def _sources(earlier: Sequence[_Message], messages: Sequence[_Message]) -> list[int]:
    """Return for each message the one of an earlier prompt with which it is compared.

    By position: a longer chat repeats its first messages. A chat that has left out its
    oldest messages to fit a context has all later ones further ahead, often behind a
    message that says how many are missing.
    """
    head = _repeated(earlier, 0, messages, 0)
    sources = list(range(len(messages)))
    for changed in (0, 1):
        first = head + changed
        for start in range(first, len(earlier)):
            rest = len(earlier) - start
            if _repeated(earlier, start, messages, first) == rest:
                sources[first:] = range(start, start + len(messages) - first)
                return sources
    return sources


def _is_same(one: _Message, other: _Message) -> bool:
    """True if a message repeats another. One with pictures never does: its pictures are shown."""
    # Texts first, which are the same object in a chat.
    same = one.text == other.text and one.role == other.role
    return same and not one.images and not other.images


def _repeated(
    earlier: Sequence[_Message], start: int, messages: Sequence[_Message], number: int
) -> int:
    """Return how many ``messages`` from ``number`` on repeat ``earlier`` ones from ``start`` on."""
    most = min(len(earlier) - start, len(messages) - number)
    length = 0
    while length < most and _is_same(
        earlier[start + length], messages[number + length]
    ):
        length += 1
    return length


def prompt_text(prompt: Json) -> str:
    """Return a recorded prompt as one text, each message below its role in brackets."""
    if isinstance(prompt, str):
        return prompt
    return "\n\n".join(f"[{each['role']}]\n{_text_of(each)}" for each in prompt)


def _text_of(message: Written) -> str:
    """Return a recorded message's content, and its tool calls, a line each."""
    calls = message.get("calls", ())
    if not calls:
        return str(message["content"])
    lines = [message["content"]]
    lines += [f"{call['name']}({call['arguments']})" for call in calls]
    return "\n".join(filter(None, lines))


def split_lines(text: str) -> list[str]:
    r"""Return lines with their newlines; only ``\n`` ends a line, as in the page's script."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _pieces(
    base: Sequence[str], new: Sequence[str], call: int, block: int
) -> Iterator[Piece]:
    """Compare the lines of a block with a block of an earlier call.

    Yields the pieces of ``new`` in order. A shared passage of at least ``FOLD`` lines is folded: it
    has no text, but its first line in ``base``, message ``block`` of call number ``call``.
    """

    def shared(one: Sequence[str], other: Sequence[str]) -> int:
        """Length of the common beginning."""
        for length, (line, other_line) in enumerate(zip(one, other, strict=False)):
            if line != other_line:
                return length
        return min(len(one), len(other))

    # Most prompts grow at the end, or have one block replaced: both ends are shared and cheap
    # to find, and what is left is short enough for a real comparison.
    head = shared(base, new)
    # The rest of both, from the end
    base_end = base[head:][::-1]
    new_end = new[head:][::-1]
    tail = shared(base_end, new_end)
    middle = new[head : len(new) - tail]
    other = base[head : len(base) - tail]
    # Passages: True if shared, from and to in ``new``, from where in ``base``.
    runs = [(True, 0, head, 0)]
    # A comparison takes quadratic time, so long texts count as new.
    if len(middle) + len(other) > _MOST:
        runs.append((False, head, head + len(middle), 0))
    else:
        compared = SequenceMatcher(None, other, middle, False)
        for change, origin, _, start, end in compared.get_opcodes():
            is_equal = change == "equal"
            runs.append((is_equal, head + start, head + end, head + origin))
    tail_start = len(new) - tail
    runs.append((True, tail_start, len(new), len(base) - tail))
    for is_shared, start, end, origin in runs:
        if is_shared and end - start >= FOLD:
            yield Piece("folded", "", call, block, origin, end - start)
        elif end > start:
            kind = "same" if is_shared else "new"
            yield Piece(kind, "".join(new[start:end]))


# Cards of steps.

_MOST_CHIPS = 16  # newly seen objects that a folded card shows
_USAGE = ("prompt", "completion", "reused")
"""Counts of tokens of a step's calls."""
_REPEATED = ("action", "executed", "object", "place", "to")
"""Details of feedback that often repeat the action."""
_VERDICTS = {
    True: "reported: success",
    False: "reported: failure",
    None: "not reported",
}


class _Cards:
    """Cards of one episode, in order.

    The page's keys and map use the steps of the last trial, which is scored; ``trials``
    are the earlier ones. ``when`` is the time of each call, as text, by the call's
    number.
    """

    def __init__(self, trajectory: Written, letters: Letters) -> None:
        self._letters = letters
        self._history = PromptHistory()
        self.when: list[str] = []
        self._met: dict[str, set[str]] = {}  # the objects that each actor has seen
        self.trials = []
        for number, trial in enumerate(trajectory.get("earlier", ()), 1):
            self.trials.append((trial, self._trial(trial, number)))
        self.cards = self._trial(trajectory, 0)

    def _trial(self, trial: Written, number: int) -> list[dict[str, Any]]:
        """Return the cards of a trial: the calls before the first step, the steps, and the
        reflection.

        ``number`` counts the earlier trials from 1 and is 0 for the last one, whose cards have ids
        without a prefix. Prompts are compared with earlier ones, so trials must come in order.
        """
        prefix = f"trial-{number}-" if number else ""

        def frame(
            when: str, key: str, anchor: str, title: str, summary: str = ""
        ) -> dict[str, Any]:
            """Return the card of what an agent did before or after all steps."""
            views = self._calls(trial.get(f"{key}_calls", ()), when)
            noted = listed_notes(trial.get(f"{key}_notes", ()))
            return {
                "id": prefix + anchor,
                "calls": views,
                "notes": noted,
                "step": None,
                "title": title,
                # What it holds.
                "summary": summary
                or ", ".join(figures.field(note["kind"]) for note in noted),
            }

        opening = frame("the opening", "opening", "opening", "Before step 1")
        cards = []
        if opening["calls"] or opening["notes"]:
            cards.append(opening)
        # Each actor's pose before its step: the start, then where its last step led.
        poses = {**trial["start"]}
        for step_number, step in enumerate(trial["steps"], 1):
            before = as_mapping(poses.get(step["actor"], {}))
            cards.append(self._step(step, step_number, number, before))
            poses[step["actor"]] = step["pose"]
        verdict = trial.get("verdict")
        if verdict:
            words = _VERDICTS[verdict.get("succeeded")]
            when = "the reflection"
            cards.append(frame(when, "closing", "verdict", "Verdict", words))
        return cards

    def _calls(
        self, calls: Sequence[Written], when: str, actor: str = ""
    ) -> list[dict[str, Any]]:
        """Return what a card shows of each call, and number the calls on.

        ``when`` is the time of the calls, in words, ``actor`` who made them. Calls must
        come in the order in which they were made, because each prompt is compared with
        earlier ones.
        """
        views = []
        for call in calls:
            blocks = self._history.add(call["role"], call["prompt"], actor)
            answer = call.get("answer")
            # Prompts repeat earlier text: only what is new tells calls apart.
            new = 0
            images: list[Written] = []
            for block in blocks:
                if isinstance(block, Repeated):
                    continue
                images += block.images
                for piece in block.pieces:
                    if piece.kind == "new":
                        new += len(piece.text)
            summary = f"{new:,} characters new"
            if answer and _tokens(answer, "prompt"):
                summary = f"{count(_tokens(answer, 'prompt'), 'token')}, {summary}"
            if call["role"] != "main":
                summary = f"to {call['role']}, {summary}"
            views.append(
                {
                    "call": call,
                    "answer": answer,
                    "number": len(self.when),
                    "blocks": blocks,
                    "images": images,
                    "summary": summary,
                }
            )
            self.when.append(when)
        return views

    def _step(
        self, step: Written, number: int, trial: int, before: Written
    ) -> dict[str, Any]:
        """Return the card of step ``number`` (from 1, over all actors).

        ``trial`` is as in :meth:`_trial`; ``before`` is the actor's pose before the step. Updates
        what each actor has seen, so steps must come in order.
        """
        name = f"step-{number}"
        when = f"step {number}"
        if trial:
            name = f"trial-{trial}-{name}"
            when = f"{when} of trial {trial}"
        held = as_mapping(step["observation"])
        objects = objects_in(held)
        # An object is new to an actor even if another one has seen it.
        met = self._met.setdefault(step["actor"], set())
        new = [each for each in objects if each not in met]
        met.update(objects)
        # The place an action led to is marked among the neighbors; a rejected answer led nowhere.
        taken = ""
        if "action" in step["decision"]:
            taken = place_of(step["pose"])
        # Depth images and lists of objects take much room: their cards show only what is new.
        folded = bool(objects) or "depth" in held
        notes = step.get("notes", ())
        # What the agent stated about its state, next to the truth.
        stated = []
        for note in notes:
            if note["kind"] == STATE:
                details = as_mapping(note["details"])
                stated += [
                    (claim.about, claim.stated, claim.true, claim.right)
                    for claim in claims(details, before, step["observation"])
                ]
        calls = self._calls(step.get("calls", ()), when, step["actor"])
        answers = [view["answer"] for view in calls if view["answer"]]
        usage = dict.fromkeys(_USAGE, 0)
        for answer in answers:
            for kind in _USAGE:
                usage[kind] += _tokens(answer, kind)
        return {
            "id": name,
            "step": step,
            "number": number,
            "title": "",
            "calls": calls,
            "notes": listed_notes(notes),
            "earlier": bool(trial),
            "observation": figures.observation(
                step["observation"], taken, self._letters
            ),
            "camera": _camera(held, notes),
            "holding": [item.get("name") for item in listed(held, "holding")],
            "objects": objects,
            "new_objects": new,
            "folded": folded,
            # Of a real camera it is not known which objects were in view.
            "saw_none": folded and held.get("shown") is not None,
            "claims": stated,
            "chips": new[:_MOST_CHIPS] if folded else (),
            "questions": _questions(calls),
            "usage": usage,
        }


class _Camera(NamedTuple):
    """A recorded camera's picture, None without one; ``hit`` is the column of the detector's report
    in percent (None outside the picture), and ``words`` are the report."""

    image: Written | None
    hit: float | None = None
    words: str = ""


def _camera(held: Written, notes: Sequence[Written]) -> _Camera | None:
    """Return the picture in an observation, and the report of the target that a step noted; None
    without both."""
    data = held.get("image")
    image = None
    if isinstance(data, bytes) and data:
        kind = "image/png" if data.startswith(b"\x89PNG") else "image/jpeg"
        image = {"media_type": kind, "data": base64.b64encode(data).decode()}
    noted = [note for note in notes if note["kind"] == GROUNDED]
    if not noted:
        return _Camera(image) if image else None
    details = as_mapping(noted[-1].get("details", {}))
    report = DetectorReport.of(Note(GROUNDED, details), 0)
    words = [f"score {report.score:.2f}"]
    hit = None
    if report.bearing is not None:
        words.append(figures.side(report.bearing))
        # A pinhole camera: columns are tangents of bearings.
        half = math.radians((finite(held.get("field_of_view")) or 0.0) / 2)
        bearing = math.radians(report.bearing)
        if abs(bearing) < half < math.pi / 2:
            hit = round(50 + 50 * math.tan(bearing) / math.tan(half), 1)
    if report.distance is not None:
        words.append(f"{report.distance:.1f} m")
    return _Camera(image, hit, ", ".join(words))


def _questions(calls: Sequence[Written]) -> list[tuple[str, float]]:
    """Return a step's yes-or-no questions, each with the probability of yes.

    None if they are fewer than ``_SEVERAL`` or if one of the calls asked something
    else.
    """
    if len(calls) < _SEVERAL:
        return []
    questions = []
    for view in calls:
        answer = view["answer"] or {}
        options = answer.get("options", ())
        if set(options) != {"yes", "no"} or answer.get("reasoning"):
            return []
        logprobs = dict(zip(options, answer["logprobs"], strict=False))
        yes = figures.probability(logprobs.get("yes", -math.inf))
        questions.append((last_line(view["call"]), yes))
    return questions


@template_function
def outcome(step: Written) -> str:
    """Return the class of a step's card.

    ``ok``, ``rejected``, ``fallback`` (the recipe's own action for a rejected answer)
    or ``odd`` (carried out, but with a status other than ``ok``).
    """
    if "rejected" in step["decision"]:
        return "rejected"
    if "fallback_for" in step["decision"]:
        return "fallback"
    if step["feedback"]["status"] == "ok":
        return "ok"
    return "odd"


@template_function
def label(step: Written) -> str:
    """Return the action, or what kind of answer was rejected."""
    decision = step["decision"]
    if "rejected" in decision:
        return f"rejected: {decision['rejected'].replace('_', ' ')}"
    name = str(decision["action"])
    arguments = ", ".join(decision.get("arguments", ()))
    if speech(step) or not arguments:
        return name  # a message is shown as a message
    return f"{name}[{arguments}]"


@template_function
def speech(step: Written) -> str:
    """Return the message that a step sent to others, or an empty text."""
    decision = step["decision"]
    if decision.get("action") in SPOKEN:
        return str(decision.get("arguments", [""])[0])
    return ""


_SHORT_LIST = 6  # items of a task that its first paragraph takes in


@template_function
def task_parts(text: str) -> tuple[str, str]:
    """Cut a task into its first paragraph and the rest. What a short first list names is part of
    the first paragraph; a list of lists is not.

    >>> task_parts("Do this.\\nThere should be:\\n- a cup\\n- a pan\\nWhere:\\n- in the hall")
    ('Do this. There should be: a cup; a pan', 'Where:\\n- in the hall')
    """
    first, _, rest = text.partition("\n")
    lead, _, heading = first.rpartition(". ")
    if lead and heading.endswith(":"):
        first = f"{lead}."
        rest = f"{heading}\n{rest}"
    heading, *lines = rest.split("\n")
    items = [*itertools.takewhile(lambda line: line.startswith("- "), lines)]
    if heading.endswith(":") and 0 < len(items) <= _SHORT_LIST:
        listed = "; ".join(item.removeprefix("- ") for item in items)
        return f"{first} {heading} {listed}", "\n".join(lines[len(items) :])
    return first, rest


@template_function
def bracketed(words: str) -> list[tuple[str, bool]]:
    """Cut words into pieces, each with True if it is in brackets: narrow pages leave it out.

    >>> bracketed("kettle in or on stove (now: sink, kitchen)")
    [('kettle in or on stove', False), (' (now: sink, kitchen)', True)]
    """
    pieces = re.split(r"( \([^()]*\))", words)
    return [(piece, bool(n % 2)) for n, piece in enumerate(pieces) if piece]


@template_function
def seconds(took: float) -> str:
    """Format a time: ``48.0 s``, ``12 ms``; a dash for a missing number."""
    if not math.isfinite(took):
        return "–"
    if took < 0.1:
        return f"{1000 * took:.0f} ms"
    return f"{took:.1f} s"


@template_function
def messages(step: Written) -> list[tuple[str, str]]:
    """Return sender and text of the messages since the actor's last turn."""
    received = []
    for each in listed(step["observation"], "messages"):
        sender = str(each.get("sender", ""))
        received.append((sender, str(each.get("text", ""))))
    return received


@template_function
def new_details(step: Written) -> dict[str, Any]:
    """Return details of the feedback that neither the card's head nor the pose shows.

    Repeated words become ``move_ahead × 5, turn_left``.
    """
    decision = step["decision"]
    shown = {}
    words = (decision.get("action"), *decision.get("arguments", ()))
    for key, value in step["feedback"].get("details", {}).items():
        # The pose says it already.
        if key in ("heading", "heading_before") and "heading" in step["pose"]:
            continue
        # "put mug_1, table_1" needs no "object: mug_1".
        if key in _REPEATED and value in words:
            continue
        if isinstance(value, list) and all(isinstance(word, str) for word in value):
            runs = []
            for word, same in itertools.groupby(value):
                times = len(list(same))
                if times > 1:
                    word = f"{word} × {times}"
                runs.append(word)
            value = runs
        shown[key] = value
    return shown


@template_function
def brief_pose(pose: Any) -> Any:
    """Return a pose in short: ``d800c0, facing 36° north-east``, ``kitchen (2.0, 1.5), facing …``.

    A pose without a place or a heading is returned as it is.
    """
    place = place_of(pose) or str(pose.get("place", ""))
    heading = pose.get("heading")
    x = pose.get("x")
    y = pose.get("y")
    # Coordinates say more than the name of a room.
    if all(isinstance(each, int | float) for each in (heading, x, y)):
        place = f"{pose.get('room', '')} ({x:.4g}, {y:.4g})".replace("_", " ").strip()
    if place and isinstance(heading, int | float):
        return f"{place}, facing {figures.number(heading, 'heading')}"
    if place and set(pose) == {"place"}:
        return place
    return pose


def listed_notes(notes: Sequence[Written]) -> list[Written]:
    """Return the notes that no other part of the page shows."""
    return [note for note in notes if note["kind"] not in (CLAUSES, FOLLOWED, STATE)]


# Answers of models.

_PICTURES = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"})
_SEVERAL = 3  # yes-or-no questions in one step from which they are shown as a table
LAST_LINE = 300
"""Characters of a prompt's last line that stand above its ranked answers, at most."""
_FORMS = {
    "json_schema": "a JSON schema",
    "grammar": "a grammar",
    "choices": "a list of choices",
}


@template_function
def last_line(call: Written) -> str:
    """Return the last line of a text prompt, or its end: the question."""
    prompt = call["prompt"]
    if not isinstance(prompt, str):
        return ""
    line = prompt.rpartition("\n")[2].strip()
    return line[-LAST_LINE:]


@template_function
def call_summary(call: Written) -> str:
    """Summarize a call: tokens, time, price, and the sampling settings sent to the server."""
    answer = call["answer"]
    parts = list(_account(answer))
    parts += _settings(call.get("sampling"), answer)
    return " · ".join(parts)


def _account(answer: Written) -> Iterator[str]:
    """Yield what an answer used and how it came about, in words.

    Tokens, seconds and dollars, as far as they are recorded.
    """
    usage = answer.get("usage", {})
    tokens = _tokens(answer, "completion")
    written = f"{count(tokens, 'token')} written"
    if answer.get("answered_by"):
        written += f" by the {answer['answered_by']} model"
    # A player that is no language model writes none and costs nothing.
    is_written = tokens > 0 or bool(answer.get("answered_by"))
    if is_written:
        yield written
    if usage.get("reasoning"):
        yield f"{usage['reasoning']:,} of them for reasoning"
    if usage.get("estimated"):
        yield "tokens estimated: the server reports no counts"
    other = answer.get("other_text")
    if other:
        yield f"none of the options was written, but {other[:80]!r}"
    elif answer.get("picked"):
        yield "one option written, not ranked: the server gives no log-probabilities"
    if usage.get("reused"):
        yield f"{usage['reused']:,} prompt tokens reused"
    if usage.get("written"):
        yield f"{usage['written']:,} written to the provider's cache"
    finish = answer.get("finish", ())
    if any(end != "stop" for end in finish):
        yield f"ended by {', '.join(finish)}"
    yield seconds(answer["seconds"])
    if "cost" not in answer:
        yield "price unknown"
    elif is_written or answer["cost"]:
        yield f"${answer['cost']:.4f}"
    if answer.get("cached"):
        yield "from the response cache"


def _settings(sampling: Written | None, answer: Written) -> Iterator[str]:
    """Yield the sampling settings of a call that reached the server, and those that did not."""
    if sampling is None:
        return
    unsent = answer.get("unsent", ())
    if "temperature" not in unsent:
        yield f"temperature {sampling['temperature']:g}"
    left = [name for name in unsent if name not in _FORMS]
    if left:
        yield f"{' and '.join(left)} not sent"
    for name, form in _FORMS.items():
        if sampling.get(name) is None:
            continue
        # A form that the server does not know was described in the prompt instead.
        verb = "prompted with" if name in unsent else "constrained to"
        yield f"{verb} {form}"


def _fill_pictures(trajectory: Written, drawn: Mapping[str, str]) -> None:
    """Add the files of pictures whose pixels alone are recorded, in place.

    ``drawn`` maps the hashes of pixels to files in base64; others get an empty file.
    """
    for trial in (*trajectory.get("earlier", ()), trajectory):
        for step in trial["steps"]:
            for call in step.get("calls", ()):
                if isinstance(call["prompt"], str):
                    continue
                for message in call["prompt"]:
                    for image in message.get("images", ()):
                        data = drawn.get(image.get("pixels"), "")
                        image.setdefault("data", data)


@template_function
def picture_source(image: Written) -> str:
    """Return an image as a ``data:`` address.

    Empty for a format that pages do not show, and for a picture that could not be drawn
    again.
    """
    kind = image["media_type"]
    if kind not in _PICTURES or not image["data"]:
        return ""
    return f"data:{kind};base64,{image['data']}"
