"""The page of one episode."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from wayword.core.metric import Metric
from wayword.core.trajectory import Step, Trajectory
from wayword.metrics import accounting
from wayword.runs.codec import to_json
from wayword.runs.record import EpisodeRecord
from wayword.viewer import figures
from wayword.viewer import words as seeing
from wayword.viewer.causes import CAUSES, signs
from wayword.viewer.course import SPOKEN, Clauses, Course, conditions, course_and_map, experts
from wayword.viewer.data import Sources
from wayword.viewer.maps.generic import letters_of, place_of
from wayword.viewer.markup import Html, data, join, page, tag
from wayword.viewer.steps import Cards, label, outcome

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
    head = brief_head(record, metrics, sources, course)
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
    known = {"←→": "steps", "space": "play", "j k": "episodes", "e": "prompts", "u": "up"}
    keys = [part for key, words in known.items() for part in (tag("kbd", key), f" {words} ")]
    shown = tag("p", *keys, class_="keys dim")
    return tag("aside", pinned, _scrubber(told, course), drawn, shown)


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


# The head: what was asked, how it ended, by which signs it failed, and every action in a line.

ENDINGS = {
    "stopped": "stopped by itself",
    "step_limit": "cut off at the step limit",
    "failed": "failed",
}


_SCORES = 4
"""Measures of the family that are in view; others are folded away, as is most of the account."""
_ACCOUNT = ("steps", "rejections", "calls", "cost", "seconds")
_MOST_RUNS = 20
"""Actions in the line that tells all of them, an even number; repeated ones count as one."""


def _told_alone(sources: Sources, name: str) -> list[Html]:
    """What each actor was told that the others were not."""
    found = []
    for actor, text in sources.told_alone(name).items():
        title = tag("summary", "told to ", tag("bdi", actor), " alone")
        found.append(tag("details", title, tag("pre", text), open=True))
    return found


def brief_head(
    record: EpisodeRecord, metrics: Sequence[Metric], sources: Sources, course: Course
) -> Html:
    """The whole head; signs of failure stand there for an episode without success alone."""
    told, name = record.trajectory, record.episode_id
    instruction = sources.instruction(name)
    unknown = tag("p", "The instruction is not known here. ", sources.notice, class_="dim")
    quoted = tag("blockquote", instruction) if instruction else unknown
    scene = sources.scene(name) or _scene_seen(told)
    alone, did = _told_alone(sources, name), _did(told)
    task = tag("div", tag("h1", tag("bdi", name)), quoted, *alone, None if alone else did)
    verdict = tag(
        "p", *_verdict(record.scores, told, sources.success), _trials(told),
        tag("span", f"scene {scene}", class_="chip") if scene else None,
    )  # fmt: skip
    error = tag("p", told.error, class_="why") if told.error else None
    why = tag("div", verdict, error, _signs(record, sources, course), did if alone else None)
    return tag(
        "header", tag("div", task, why, class_="brief"), _scores(record.scores, metrics),
        class_="head",
    )  # fmt: skip


def _signs(record: EpisodeRecord, sources: Sources, course: Course) -> Html | None:
    """Why an episode without success failed, by the look of its record, and where to look first."""
    told, scores = record.trajectory, record.scores
    if told.ended == "failed" or scores.get(sources.success, 1.0) > 0.5:
        return None
    found = signs(to_json(told), scores, sources.instruction(record.episode_id))
    where = _where(told, course)
    lines = [where] if where is not None else []
    lines += [
        tag(
            "li", tag("b", name.replace("_", " ")), f": {CAUSES[name]}",
            join([" (", _step_link(told, step), ")"]) if step else None,
        )
        for name, step in found.items()
    ]  # fmt: skip
    missing = _missing(told, sources)
    lines += [missing] if missing is not None else []
    return tag("ul", *lines, class_="signs", aria_label="Signs of why it failed") if lines else None


def _did(told: Trajectory) -> Html | None:
    """Every action in a line, repeated ones counted; the middle of many is left out."""
    runs: list[list[int]] = []
    for number, step in enumerate(told.steps, 1):
        last = told.steps[runs[-1][0] - 1] if runs else None
        if last is not None and (last.actor, label(last)) == (step.actor, label(step)):
            runs[-1].append(number)
        else:
            runs.append([number])
    items = [_run(told, run) for run in runs]
    if (left := len(items) - _MOST_RUNS) > 0:
        half = _MOST_RUNS // 2
        items[half:-half] = [tag("li", f"… {left} more …", class_="dim")]
    return tag("ol", *items, class_="did", aria_label="Every action") if items else None


def _run(told: Trajectory, numbers: Sequence[int]) -> Html:
    """Steps of one actor that did the same."""
    first = numbers[0]
    step = told.steps[first - 1]
    who = f" {step.actor}" if len(told.start) > 1 else ""
    link = tag("a", f"{first}{who} ", tag("code", label(step)), href=f"#step-{first}")
    return tag("li", link, f" × {len(numbers)}" if len(numbers) > 1 else None, class_=outcome(step))


def _step_link(told: Trajectory, number: int) -> Html:
    action = tag("code", label(told.steps[number - 1]))
    return join([tag("a", f"step {number}", href=f"#step-{number}"), " ", action])


def _missing(told: Trajectory, sources: Sources) -> Html | None:
    """What should have held in the end, and whether it did."""
    known = conditions(sources.reference(told.episode_id), told.state)
    items = [
        tag(
            "li", tag("b", "✓ " if met == parts else "✗ ", class_="ok" if met == parts else "bad"),
            words, f" ({met} of {parts})" if met < parts and parts > 1 else None,
        )
        for words, met, parts in known
    ]  # fmt: skip
    return (
        tag("li", tag("b", "wanted"), ": ", tag("ul", *items, class_="wanted")) if items else None
    )


def _where(told: Trajectory, course: Course) -> Html | None:
    """The first steps that led off the gold path and away from success, and how near it came."""
    steps = {course.left: "left the gold path"} if course.left else {}
    if course.known and course.worse:
        lost = "undid a goal condition" if course.of else "led away from the goal"
        steps[course.worse] = " and ".join(filter(None, (steps.get(course.worse, ""), lost)))
    links = [join([_step_link(told, n), f" {words}"]) for n, words in sorted(steps.items())]
    if not links and not course.known:
        return None
    return tag("li", tag("b", "where"), ": ", join([*links, course.summary() or None], "; "))


def _scene_seen(told: Trajectory) -> str:
    """The scene by the first observation, where the dataset cannot say."""
    seen = seeing.as_mapping(told.steps[0].observation) if told.steps else {}
    return str(seen.get("scene") or "")


def _verdict(scores: Mapping[str, float], told: Trajectory, success: str) -> list[Html | None]:
    ended = tag("span", ENDINGS.get(told.ended, told.ended), class_="chip")
    if told.ended == "failed" or success not in scores:
        kind = "rejected" if told.ended == "failed" else "odd"
        return [tag("b", ENDINGS.get(told.ended, told.ended), class_=f"badge {kind}")]
    good = scores[success] > 0.5
    kind, words = ("ok", "success") if good else ("rejected", "no success")
    return [tag("b", words, class_=f"badge {kind}"), ended]


def _trials(told: Trajectory) -> Html | None:
    """Which trial it is that counts, where there were several."""
    if not told.earlier:
        return None
    return tag("span", f"trial {len(told.earlier) + 1}", class_="chip")


def _scores(scores: Mapping[str, float], metrics: Sequence[Metric]) -> Html | None:
    """The family's first measures and what the episode took; the rest folded away."""
    there = [metric for metric in metrics if metric.key in scores]
    account = {metric.key for metric in accounting.METRICS}
    own = [metric for metric in there if metric.key not in account]
    shown = [*own[:_SCORES], *(metric for metric in there if metric.key in _ACCOUNT)]
    rest = [metric for metric in there if metric not in shown]
    more = tag("details", tag("summary", f"{len(rest)} more figures"), _figures(rest, scores))
    return tag("div", _figures(shown, scores), more if rest else None) if shown else None


def _figures(metrics: Sequence[Metric], scores: Mapping[str, float]) -> Html:
    cells = [
        tag("div", tag("dt", figures.title(metric), title=metric.doc), tag("dd", text))
        for metric in metrics
        for text in [figures.value(metric, scores[metric.key])]
    ]
    return tag("dl", *cells, class_="scores")
