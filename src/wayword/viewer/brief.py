"""The head of an episode's page: what was asked, how it ended, by which signs it failed, and every
action in a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wayword.core.metric import Metric
from wayword.core.trajectory import Trajectory
from wayword.metrics import accounting
from wayword.runs.codec import to_json
from wayword.runs.record import EpisodeRecord
from wayword.viewer import figures
from wayword.viewer import words as seeing
from wayword.viewer.causes import CAUSES, signs
from wayword.viewer.course import Course, conditions
from wayword.viewer.data import Sources
from wayword.viewer.markup import Html, join, tag
from wayword.viewer.steps import label, outcome

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
    return [
        tag(
            "details",
            tag("summary", "told to ", tag("bdi", actor), " alone"),
            tag("pre", text),
            open=True,
        )
        for actor, text in sources.told_alone(name).items()
    ]


def head(
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
