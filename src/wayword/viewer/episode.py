"""The page of one episode."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from wayword.core.metric import Metric
from wayword.core.trajectory import Step, Trajectory
from wayword.runs.record import EpisodeRecord
from wayword.viewer import brief
from wayword.viewer import words as seeing
from wayword.viewer.brief import ENDINGS
from wayword.viewer.clauses import Clauses
from wayword.viewer.course import Course, course_and_map
from wayword.viewer.data import Sources
from wayword.viewer.expert import experts
from wayword.viewer.maps.generic import letters_of, place_of
from wayword.viewer.markup import Html, data, join, page, tag
from wayword.viewer.steps import SPOKEN, Cards, label, outcome

_PATIENCE = 1.0
"""Seconds of looking for what an expert would have done, in a page that no server stands behind."""


@dataclass(frozen=True, slots=True)
class Links:
    """Addresses of the pages before and after, empty where there is none, and of the run's.

    ``ask`` is the query that names the episode to the server.
    """

    before: str = ""
    after: str = ""
    up: str = "../index.html"
    ask: str = ""


def episode_page(
    record: EpisodeRecord,
    metrics: Sequence[Metric],
    sources: Sources,
    run: str,
    links: Links,
    served: bool = False,
) -> str:
    """The whole document. ``run`` is what the run is called."""
    told = record.trajectory
    letters = letters_of(sources, told)
    sources = replace(sources, letters=letters)
    course, drawn = course_and_map(told, sources)
    cards = Cards(len(told.start) > 1, links.ask if served else "", letters)
    cards.clauses = Clauses.of(told)
    pinned = _pinned(sources.instruction(told.episode_id), cards.clauses)
    aside, steps = _aside(told, course, pinned, drawn), _steps(told, sources, course, cards)
    head = brief.head(record, metrics, sources, course)
    two = tag("div", aside, steps, class_="two")
    main = letters.over(tag("main", head, two, data_ask=links.ask if served else None))
    known = None if served else data("experts", [*map(list, experts(told, sources, _PATIENCE))])
    body = join([_top(record, run, links), main, known])
    return page(f"{record.episode_id} · {run}", body, "episode", served)


def _top(record: EpisodeRecord, run: str, links: Links) -> Html:
    before = tag("a", "←", href=links.before, rel="prev", title="previous episode (k)")
    after = tag("a", "→", href=links.after, rel="next", title="next episode (j)")
    return tag(
        "nav",
        tag("a", "‹ ", run, href=links.up, rel="up", title="all episodes (u)"),
        tag("span", tag("bdi", record.episode_id), class_="grow"),
        before if links.before else None,
        after if links.after else None,
        class_="top",
    )


LANE, _CURVE = 10, 34
"""Heights in the drawing of time: of an actor's lane, and of the curve."""


def _time(told: Trajectory, course: Course) -> Html:
    """A lane an actor, a mark a step; above them how far success was, where that is known."""
    actors = list(dict.fromkeys(step.actor for step in told.steps)) or [""]
    count = max(1, len(told.steps))
    wide = 1000 / count
    curve = _curve(course, wide) if len(course.values) == count + 1 else None
    top = _CURVE + 4 if curve else 0
    marks = [
        tag(
            "rect", tag("title", f"{number}: {label(step)}"), x=round((number - 1) * wide, 2),
            y=top + actors.index(step.actor) * (LANE + 2), width=round(max(wide - 1, 0.6), 2),
            height=LANE, class_=f"mark {outcome(step)}", data_step=number,
        )
        for number, step in enumerate(told.steps, 1)
    ]  # fmt: skip
    tall = top + len(actors) * (LANE + 2)
    hand = tag("line", x1=0, y1=0, x2=0, y2=tall, class_="hand")
    return tag(
        "svg", curve, *marks, hand, viewBox=f"0 0 1000 {tall}", class_="time",
        preserveAspectRatio="none", role="img", aria_label="Every step in time",
    )  # fmt: skip


def _curve(course: Course, wide: float) -> Html | None:
    """What is left to go, or the goal conditions that hold: a line, or stairs."""
    if not course.known:
        return None
    values = [each if math.isfinite(each) else 0.0 for each in course.values]
    most = course.of or max(values) or 1.0
    heights = [2 + _CURVE * (1 - each / most) for each in values]
    points = [(n * wide, y) for n, y in enumerate(heights)]
    if course.of:  # a condition comes to hold at the end of a step, not in the course of it
        points = [
            corner for (x, y), (_, after) in itertools.pairwise(points)
            for corner in ((x, y), (x + wide, y), (x + wide, after))
        ]  # fmt: skip
    told = "goal conditions that hold" if course.of else "what is left to go"
    return tag(
        "polyline", tag("title", f"{told}, up to {most:g}"),
        points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points), class_="curve",
    )  # fmt: skip


def _scrubber(told: Trajectory, course: Course) -> Html | None:
    """Where one is in time: a slider, buttons and keys."""
    if not told.steps:
        return None
    worse = course.worse if course.known else 0
    buttons = [
        tag("button", words, type="button", data_key=key, data_go=go, title=f"{title} ({key})")
        for key, words, title, go in (
            ("ArrowLeft", "‹", "step back", None),
            (" ", "play", "play and pause", None),
            ("ArrowRight", "›", "next step", None),
            ("o", "off the path", "the first step off the gold path", course.left),
            ("w", "first worse", "the first step after which success was farther", worse),
            ("b", "best", "the step after which success was nearest", course.known * course.best),
            ("r", "rejected", "next rejected answer", None),
            ("m", "message", "next message", None),
        )
        if go != 0 and _has(told, key)
    ]
    slider = tag(
        "input", type="range", id="now", min=1, max=len(told.steps), value=1, step=1,
        aria_label="Step",
    )  # fmt: skip
    said = tag("output", id="said", for_="now", aria_live="off")
    words = course.summary()
    return tag(
        "div", _time(told, course), slider, tag("div", *buttons, said, class_="buttons"),
        tag("p", words, class_="dim") if words else None, class_="scrubber",
    )  # fmt: skip


def _has(told: Trajectory, key: str) -> bool:
    """Whether there is anything that a key would jump to."""
    if key == "r":
        return any(outcome(step) in ("rejected", "fallback") for step in told.steps)
    return key != "m" or any(label(step) in SPOKEN for step in told.steps)


def _pinned(words: str, clauses: Clauses) -> Html | None:
    """The instruction, which stays in view beside all steps."""
    return clauses.instruction(words) if words or clauses.texts else None


def _aside(told: Trajectory, course: Course, pinned: Html | None, drawn: Html | None) -> Html:
    keys = tag(
        "p",
        *(
            part
            for key, words in (
                ("←→", "steps"),
                ("space", "play"),
                ("j k", "episodes"),
                ("e", "prompts"),
                ("u", "up"),
            )
            for part in (tag("kbd", key), f" {words} ")
        ),
        class_="keys dim",
    )
    return tag("aside", pinned, _scrubber(told, course), drawn, keys)


def _steps(told: Trajectory, sources: Sources, course: Course, cards: Cards) -> Html:
    before = [
        _earlier(number, trial, cards, sources) for number, trial in enumerate(told.earlier, 1)
    ]
    cards.trial, cards.course = 0, course
    shown = _cards(told, cards, sources)
    return tag("div", *before, *shown[:-1], _end(told), shown[-1], class_="steps")


def _earlier(number: int, trial: Trajectory, cards: Cards, sources: Sources) -> Html:
    """A trial that did not count, folded away."""
    cards.trial = number
    steps = f"{len(trial.steps):,} step{'' if len(trial.steps) == 1 else 's'}"
    title = tag("summary", f"Trial {number}: {steps}, {ENDINGS.get(trial.ended, trial.ended)}")
    inside = tag("div", *_cards(trial, cards, sources), class_="steps")
    return tag("details", title, inside, class_="trial", id=f"trial-{number}")


def _cards(trial: Trajectory, cards: Cards, sources: Sources) -> list[Html | None]:
    """Opening, steps, and the verdict, if there is one, at the end."""
    cards.poses = dict(trial.start)
    opening = cards.opening(trial.opening_calls, trial.opening_notes)
    steps = [
        cards.step(number, step, _around(trial, step, sources))
        for number, step in enumerate(trial.steps, 1)
    ]
    closing = cards.closing(trial.closing_calls, trial.closing_notes, trial.verdict)
    return [opening, *steps, closing]


def _around(told: Trajectory, step: Step, sources: Sources) -> Html | None:
    """The place in words, where no prompt of the step has them."""
    place = place_of(seeing.as_mapping(step.observation))
    if step.calls or not place:
        return None
    found = step.percept or sources.percept(sources.scene(told.episode_id), place)
    if found is None:
        return None
    return tag("details", tag("summary", "what there is around"), seeing.percept(found))


def _end(told: Trajectory) -> Html:
    head = tag("header", tag("h2", "End"), tag("span", ENDINGS.get(told.ended, told.ended)))
    return tag("section", head, seeing.facts(told.state), class_="card", id="end")
