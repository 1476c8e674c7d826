"""The page of one episode, rendered from its JSON document.

A prompt repeats most of the previous one, so a page with all of them in full would grow with the
square of the steps. A long passage that repeats an earlier prompt is therefore a reference to it,
which the page's script fills in on demand.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from wayword.core.episode import Json
from wayword.core.metric import Metric
from wayword.core.trajectory import CLAUSES, FOLLOWED, STATE
from wayword.metrics import accounting
from wayword.metrics.progress import count
from wayword.metrics.recorded import SPOKEN, as_mapping, listed, objects_in, place_of
from wayword.metrics.state_accuracy import claims
from wayword.runs.codec import restore
from wayword.viewer import figures
from wayword.viewer.markup import Html, Letters, page, render, template_function

Written = Mapping[str, Any]
"""A part of a trajectory as a run folder holds it."""


class Links(NamedTuple):
    """Addresses of the previous and next page (empty if there is none) and of the run's page, and
    the query that identifies the episode to the server."""

    before: str = ""
    after: str = ""
    up: str = "../index.html"
    ask: str = ""


def episode_page(
    document: Mapping[str, Json],
    metrics: Sequence[Metric],
    run: str,
    links: Links,
    served: bool = False,
) -> str:
    """Render the page of a document (``wayword.viewer.document``). ``run`` is its run's name."""
    document = restore(document)
    trajectory = document["trajectory"]
    scores = document["scores"]
    steps = trajectory["steps"]
    letters = Letters(document["letters"])
    present = [metric for metric in metrics if metric.key in scores]
    family = [metric for metric in present if metric not in accounting.METRICS]
    first = [
        *family[:_SCORES],
        *(metric for metric in present if metric.key in _ACCOUNT),
    ]
    first = [metric for metric in first if scores[metric.key]]  # zeros are omitted
    main = render(
        "episode.html", document=document, trajectory=trajectory, steps=steps,
        cards=_Cards(trajectory, letters), ask=links.ask if served else "",
        scores=scores, first=first, figure=Html(document["map"] or ""),
        others=[metric for metric in present if metric not in first], usage=_usage(steps),
        curve=curve_of(document["progress"], len(steps)), tall=CURVE,
        actors=list(dict.fromkeys(step["actor"] for step in steps)),
    )  # fmt: skip
    return page(
        "episode_page.html", "episode", served, name=document["id"], run=run, links=links,
        main=letters.over(main), advice=document["advice"],
    )  # fmt: skip


_SCORES = 4
"""Metrics of the family that are in view; the others are folded, as is most of the account."""
_ACCOUNT = ("steps", "rejections", "calls", "cost")
_FLAT = 0.05  # change, as a part of the largest value, below which no curve is drawn
CURVE = 34
"""Height of the curve in the drawing of time, which is 1000 units wide."""


def curve_of(progress: Mapping[str, Any], steps: int) -> tuple[str, str]:
    """Return the points of the curve of the distance to success, and its title; empty if flat."""
    if not progress["informative"] or len(progress["course"]) != steps + 1:
        return "", ""
    course = progress["course"]
    conditions = progress["conditions"]
    width = 1000 / steps
    most = conditions or max(course) or 1.0
    if max(course) - min(course) < _FLAT * most:
        return "", ""
    points = [
        (n * width, 2 + CURVE * (1 - each / most)) for n, each in enumerate(course)
    ]
    if conditions:  # one comes to hold at the end of a step, not in its course
        points = [
            corner for (x, y), (_, after) in itertools.pairwise(points)
            for corner in ((x, y), (x + width, y), (x + width, after))
        ]  # fmt: skip
    words = "goal conditions met" if conditions else "distance to the goal"
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points), f"{words}, up to {most:.3g}"


def _usage(steps: Sequence[Written]) -> list[tuple[int, float, str]]:
    """Return the steps with calls: tokens as the height of a bar; tokens, cost and time as text."""
    rows = []
    for number, step in enumerate(steps, 1):
        answers = [call["answer"] for call in step.get("calls", ()) if "answer" in call]
        if tokens := sum(
            _tokens(each, "prompt") + _tokens(each, "completion") for each in answers
        ):
            costs = [each["cost"] for each in answers if "cost" in each]
            price = f", ${sum(costs):.4f}" if len(costs) == len(answers) else ""
            took = sum(
                each["seconds"] for each in answers if math.isfinite(each["seconds"])
            )
            rows.append(
                (number, tokens, f"{tokens:,} tokens{price}, {took:.1f} s of calls")
            )
    most = max((tokens for _, tokens, _ in rows), default=1)
    return [
        (number, max(1.0, 16 * tokens / most), words) for number, tokens, words in rows
    ]


def _tokens(answer: Written, kind: str) -> int:
    return int(answer.get("usage", {}).get(kind, 0))


# The new passages of a prompt, and references to the earlier ones.

FOLD = 6
"""Shared passages of this many lines or more are folded away."""
_HEAD = 64
_MOST = 1500  # longer differences count as new throughout, without a comparison by line


class Piece(NamedTuple):
    """A passage of a prompt: ``new``, the ``same`` as in an earlier prompt, or ``folded``: instead
    of a text, ``lines`` lines of the same block of call ``call``, from line ``start`` (from 0)."""

    kind: str
    text: str = ""
    call: int = 0
    start: int = 0
    lines: int = 0


class Block(NamedTuple):
    """A message; a raw text prompt is a single block without a role."""

    role: str
    pieces: tuple[Piece, ...]
    images: Sequence[Written] = ()


class PromptHistory:
    """Prompts of one episode in the order of its calls, each compared with the previous one of the
    same role and opening."""

    def __init__(self) -> None:
        self._latest: dict[
            tuple[str, str], tuple[int, list[tuple[str, list[str]]]]
        ] = {}
        self._count = 0

    def add(self, role: str, prompt: Json) -> tuple[Block, ...]:
        """Add a recorded prompt sent to the model of ``role``, and return its blocks."""
        whole = isinstance(prompt, str)
        if whole:
            messages: list[Any] = [{"role": "", "content": prompt}]
        else:
            messages = list(prompt)
        key = (role, messages[0]["content"][:_HEAD] if messages else "")
        call, earlier = self._latest.get(key, (0, []))
        lines = [(each["role"], split_lines(each["content"])) for each in messages]
        self._latest[key] = self._count, lines
        self._count += 1
        blocks = []
        for at, (who, new) in enumerate(lines):
            pieces: Iterator[Piece] = iter([Piece("new", "".join(new))])
            if at < len(earlier) and earlier[at][0] == who:
                pieces = _pieces(earlier[at][1], new, call)
            blocks.append(Block(who, tuple(pieces), messages[at].get("images", ())))
        return tuple(blocks)


def split_lines(text: str) -> list[str]:
    """Lines with their newlines; only ``\\n`` ends a line, as in the page's script."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _pieces(base: Sequence[str], new: Sequence[str], call: int) -> Iterator[Piece]:
    """Compare the lines of a block with the same block of an earlier call."""

    def shared(one: Sequence[str], other: Sequence[str]) -> int:
        pairs = enumerate(zip(one, other, strict=False))
        return next((n for n, (a, b) in pairs if a != b), min(len(one), len(other)))

    head = shared(base, new)
    tail = shared(base[head:][::-1], new[head:][::-1])
    middle = new[head : len(new) - tail]
    other = base[head : len(base) - tail]
    # shared?, from and to in ``new``, from where in ``base``
    runs = [(True, 0, head, 0)]
    if len(middle) + len(other) > _MOST:
        runs.append((False, head, head + len(middle), 0))
    else:
        for kind, a0, _, b0, b1 in SequenceMatcher(
            None, other, middle, False
        ).get_opcodes():
            runs.append((kind == "equal", head + b0, head + b1, head + a0))
    runs.append((True, len(new) - tail, len(new), len(base) - tail))
    for same, start, end, origin in runs:
        if same and end - start >= FOLD:
            yield Piece("folded", "", call, origin, end - start)
        elif end > start:
            yield Piece("same" if same else "new", "".join(new[start:end]))


# Cards of steps.

_FEW_OBJECTS = 6
_MOST_CHIPS = 16
_REPEATED = ("action", "executed", "object", "place", "to")
"""Details of feedback that often repeat the action."""
_VERDICTS = {
    True: "reported: success",
    False: "reported: failure",
    None: "not reported",
}


class _Cards:
    """Cards of one episode, in order. The page's keys and map use the steps of the last trial,
    which is scored; ``trials`` are the earlier ones. ``when`` is the time of each call, as text."""

    def __init__(self, trajectory: Written, letters: Letters) -> None:
        self._letters = letters
        self._history = PromptHistory()
        self.when: list[str] = []
        self._met: dict[str, set[str]] = {}  # the objects that each actor has seen
        self.trials = [
            (trial, self._trial(trial, number))
            for number, trial in enumerate(trajectory.get("earlier", ()), 1)
        ]
        self.cards = self._trial(trajectory, 0)

    def _trial(self, trial: Written, number: int) -> list[dict[str, Any]]:
        """Return the calls before the first step, the steps, and the reflection after a trial."""
        prefix = f"trial-{number}-" if number else ""

        def frame(
            kind: str, calls: str, notes: str, title: str, summary: str
        ) -> dict[str, Any]:
            views = self._calls(trial.get(calls, ()), kind)
            noted = listed_notes(trial.get(notes, ()))
            return {"id": prefix + title.lower(), "calls": views, "notes": noted,
                    "step": None, "title": title, "summary": summary}  # fmt: skip

        opening = frame(
            "the opening",
            "opening_calls",
            "opening_notes",
            "Opening",
            "before the first step",
        )
        cards = [opening] if opening["calls"] or opening["notes"] else []
        poses = {**trial["start"]}
        for n, step in enumerate(trial["steps"], 1):
            cards.append(
                self._step(step, n, number, as_mapping(poses.get(step["actor"], {})))
            )
            poses[step["actor"]] = step["pose"]
        if verdict := trial.get("verdict"):
            words = _VERDICTS[verdict.get("succeeded")]
            names = ("closing_calls", "closing_notes")
            cards.append(frame("the reflection", *names, "Verdict", words))
        return cards

    def _calls(self, calls: Sequence[Written], when: str) -> list[dict[str, Any]]:
        views = []
        for call in calls:
            blocks = self._history.add(call["role"], call["prompt"])
            answer = call.get("answer")
            new = sum(
                len(p.text) for block in blocks for p in block.pieces if p.kind == "new"
            )
            words = "" if call["role"] == "main" else f"to {call['role']}, "
            words += f"{count(_tokens(answer, 'prompt'), 'token')}, " if answer else ""
            views.append({
                "call": call, "answer": answer, "number": len(self.when), "blocks": blocks,
                "summary": f"{words}{new:,} characters new",
            })  # fmt: skip
            self.when.append(when)
        return views

    def _step(
        self, step: Written, number: int, trial: int, before: Written
    ) -> dict[str, Any]:
        """Return step ``number`` (from 1, over all actors); ``before`` is the pose before it."""
        when = f"step {number}" + (f" of trial {trial}" if trial else "")
        held = as_mapping(step["observation"])
        names = objects_in(held)
        met = self._met.setdefault(step["actor"], set())
        new = [name for name in names if name not in met]
        met.update(names)
        taken = place_of(step["pose"]) if "action" in step["decision"] else ""
        folded = len(names) > _FEW_OBJECTS or "depth" in held
        calls = self._calls(step.get("calls", ()), when)
        notes = step.get("notes", ())
        stated = [
            (claim.about, claim.stated, claim.true, claim.right)
            for note in notes if note["kind"] == STATE
            for claim in claims(as_mapping(note["details"]), before, step["observation"])
        ]  # fmt: skip
        answers = [view["answer"] for view in calls if view["answer"]]
        # Of yes or no, each with the probability of yes
        questions: list[tuple[str, float]] = []
        for view in calls if len(calls) >= _SEVERAL else ():
            answer = view["answer"] or {}
            if {*answer.get("options", ())} != {"yes", "no"} or answer.get("reasoning"):
                questions = []
                break
            logprobs = dict(zip(answer["options"], answer["logprobs"], strict=False))
            yes = figures.probability(logprobs.get("yes", -math.inf))
            questions.append((last_line(view["call"]), yes))
        kinds = ("prompt", "completion", "reused")
        return {
            "id": f"trial-{trial}-step-{number}" if trial else f"step-{number}", "step": step,
            "number": number, "title": "", "calls": calls, "notes": listed_notes(notes),
            "earlier": bool(trial),
            "observation": figures.observation(step["observation"], taken, self._letters),
            "holding": [each.get("name") for each in listed(held, "holding")],
            "objects": names, "new_objects": new, "folded": folded, "claims": stated,
            "chips": new[:_MOST_CHIPS] if folded else (), "questions": questions,
            "usage": {kind: sum(_tokens(each, kind) for each in answers) for kind in kinds},
        }  # fmt: skip


@template_function
def outcome(step: Written) -> str:
    """``ok``, ``rejected``, ``fallback`` (the recipe's own action for a rejected answer), ``odd``
    (carried out, but with a status other than ``ok``)."""
    if "rejected" in step["decision"]:
        return "rejected"
    if "fallback_for" in step["decision"]:
        return "fallback"
    return "ok" if step["feedback"]["status"] == "ok" else "odd"


@template_function
def label(step: Written) -> str:
    """The action, or what kind of answer was rejected."""
    decision = step["decision"]
    if "rejected" in decision:
        return f"rejected: {decision['rejected'].replace('_', ' ')}"
    arguments = "" if speech(step) else ", ".join(decision.get("arguments", ()))
    if arguments:
        return f"{decision['action']}[{arguments}]"
    return str(decision["action"])


@template_function
def speech(step: Written) -> str:
    """The message to others, or empty."""
    decision = step["decision"]
    if decision.get("action") in SPOKEN:
        return str(decision.get("arguments", [""])[0])
    return ""


@template_function
def seconds(took: float) -> str:
    """``48.0 s``, ``12 ms``; a dash for a missing number."""
    if not math.isfinite(took):
        return "–"
    return f"{took:.1f} s" if took >= 0.1 else f"{1000 * took:.0f} ms"


@template_function
def messages(step: Written) -> list[tuple[str, str]]:
    """Sender and text of the messages since the actor's last turn."""
    items = listed(step["observation"], "messages")
    return [(str(each.get("sender", "")), str(each.get("text", ""))) for each in items]


@template_function
def new_details(step: Written) -> dict[str, Any]:
    """Return details of the feedback that neither the card's head nor the pose shows; repeated
    words become ``move_ahead × 5, turn_left``."""
    decision = step["decision"]
    shown = {}
    words = (decision.get("action"), *decision.get("arguments", ()))
    for key, value in step["feedback"].get("details", {}).items():
        if key in ("heading", "heading_before") and "heading" in step["pose"]:
            continue
        if key in _REPEATED and value in words:
            continue
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            runs = ((word, len(list(same))) for word, same in itertools.groupby(value))
            value = [
                word if times == 1 else f"{word} × {times}" for word, times in runs
            ]
        shown[key] = value
    return shown


@template_function
def brief_pose(pose: Any) -> Any:
    """``d800c0, facing 36° north-east``, ``kitchen (2.0, 1.5), facing …``; else the pose."""
    if not isinstance(pose, Mapping):
        return pose
    place = place_of(pose) or str(pose.get("place", ""))
    heading = pose.get("heading")
    x = pose.get("x")
    y = pose.get("y")
    if all(isinstance(each, int | float) for each in (heading, x, y)):
        place = f"{pose.get('room', '')} ({x:.4g}, {y:.4g})".replace("_", " ").strip()
    if place and isinstance(heading, int | float):
        return f"{place}, facing {figures.number(heading, 'heading')}"
    return place if place and set(pose) == {"place"} else pose


def listed_notes(notes: Sequence[Written]) -> list[Written]:
    """Notes that no other part of the page shows."""
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
    """The last line of a text prompt, or its end: the question."""
    prompt = call["prompt"]
    line = prompt.rpartition("\n")[2].strip() if isinstance(prompt, str) else ""
    return line[-LAST_LINE:]


@template_function
def call_summary(call: Written) -> str:
    """Summarize a call: tokens, time, price, and the sampling settings sent to the server."""
    answer = call["answer"]
    sampling = call.get("sampling")
    usage = answer.get("usage", {})
    unsent = answer.get("unsent", ())
    if answer.get("answered_by"):
        model = f" by the {answer['answered_by']} model"
    else:
        model = ""
    finish = [end for end in answer.get("finish", ()) if end != "stop"]
    other = answer.get("other_text")
    reasoning = usage.get("reasoning")
    reused = usage.get("reused")
    written = usage.get("written")
    parts = [
        f"{count(_tokens(answer, 'completion'), 'token')} written{model}",
        f"{reasoning:,} of them for reasoning" if reasoning else "",
        "tokens estimated: the server reports no counts" if usage.get("estimated") else "",
        f"none of the options was written, but {other[:80]!r}" if other else "",
        "one option written, not ranked: the server gives no log-probabilities"
        if answer.get("picked") and not other else "",
        f"{reused:,} prompt tokens reused" if reused else "",
        f"{written:,} written to the provider's cache" if written else "",
        f"ended by {', '.join(answer['finish'])}" if finish else "",
        seconds(answer["seconds"]),
        f"${answer['cost']:.4f}" if "cost" in answer else "price unknown",
        "from the response cache" if answer.get("cached") else "",
    ]  # fmt: skip
    if sampling is not None:
        if "temperature" not in unsent:
            parts.append(f"temperature {sampling['temperature']:g}")
        if left := [name for name in unsent if name not in _FORMS]:
            parts.append(f"{' and '.join(left)} not sent")
        for name, words in _FORMS.items():
            if sampling.get(name) is not None:
                parts.append(
                    f"{'prompted with' if name in unsent else 'constrained to'} {words}"
                )
    return " · ".join(filter(None, parts))


@template_function
def picture_source(image: Written) -> str:
    """Return an image as a ``data:`` address; empty for a format that pages do not show."""
    kind = image["media_type"]
    return f"data:{kind};base64,{image['data']}" if kind in _PICTURES else ""
