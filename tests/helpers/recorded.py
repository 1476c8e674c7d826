"""Trajectories to record: a small one by hand, and a hypothesis strategy for any other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from wayword.core.action import Action, Decision, Rejection
from wayword.core.model import (
    Choice,
    Completion,
    Image,
    Message,
    Sampling,
    TokenLogprob,
    Usage,
)
from wayword.core.perceiver import Percept, Sector, Sighting
from wayword.core.trajectory import ModelCall, Note, Step, Trajectory, Verdict
from wayword.core.world import Feedback, Observation
from wayword.runs.record import EpisodeRecord


@dataclass(frozen=True, slots=True)
class Seen(Observation):
    """An observation as a world would have it."""

    place: str
    ways: tuple[tuple[str, float], ...]


def walk(episode_id: str, steps: int = 2, said: str = "") -> EpisodeRecord:
    """A record of a walk of so many steps."""
    turns = [
        Step(
            "agent",
            Seen(f"p{at}", (("p0", 0.5),)),
            Decision(Action("goto", (f"p{at + 1}",)), thought=said),
            Feedback("ok", {"heading": 90.0}),
            {"place": f"p{at + 1}"},
        )
        for at in range(steps)
    ]
    trajectory = Trajectory(
        episode_id, {"agent": {"place": "p0"}}, turns, {"at": f"p{steps}"}
    )
    return EpisodeRecord(episode_id, {"sr": 1.0, "ne": 0.25}, trajectory)


def growing(prompts: list[Any]) -> Trajectory:
    """A trajectory whose steps each made one call with the prompt given for it."""
    answer = Completion(("goto[p1]",), ("stop",), Usage(10, 3))
    trajectory = walk("grown", len(prompts)).trajectory
    for step, prompt in zip(trajectory.steps, prompts, strict=True):
        step.calls.append(ModelCall("main", prompt, answer, Sampling()))
    return trajectory


text = st.text(max_size=12) | st.sampled_from(
    ["", "type", "$float", "$", "\ud800", "a\nb\u2028"]
)
number = st.floats(allow_nan=False) | st.integers()
value: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | number | text | st.binary(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3)
    ),
    max_leaves=6,
)
mapping = st.dictionaries(text, value, max_size=3)
counts = st.integers(0, 10**6)
usages = st.builds(Usage, counts, counts, counts)
costs = st.none() | st.floats(0, 10)

stem = "You stand in a long hall with many doors, and the task is to find the one kitchen. "
content = st.builds(lambda n, tail: stem * n + tail, st.integers(0, 3), text)
images = st.lists(st.builds(Image, st.binary(max_size=4), text), max_size=2).map(tuple)
messages = st.builds(
    Message, st.sampled_from(["system", "user", "assistant"]), content, images
)
prompt = content | st.lists(messages, max_size=4).map(tuple)

logprobs = st.builds(
    TokenLogprob, text, number, st.dictionaries(text, number, max_size=2)
)
texts = st.lists(text, max_size=3).map(tuple)
completions = st.builds(
    Completion,
    texts,
    texts,
    usages,
    st.lists(logprobs, max_size=3).map(tuple),
    costs,
    st.floats(0, 9),
    st.booleans(),
)
# Infinite ones included: an option that cannot come next
floats = st.floats(allow_nan=False)
choices = st.builds(
    Choice,
    texts,
    st.lists(floats, max_size=3).map(tuple),
    usages,
    costs,
    st.floats(0, 9),
)
samplings = st.one_of(
    st.builds(
        Sampling,
        number,
        number,
        counts,
        texts,
        counts,
        st.none() | counts,
        logprobs=counts,
    ),
    st.builds(Sampling, choices=texts),
    st.builds(Sampling, json_schema=mapping),
    st.builds(Sampling, grammar=text),
)
calls = st.builds(
    ModelCall,
    text,
    prompt,
    completions | choices | st.none(),
    st.none() | samplings,
    text,
)
notes = st.builds(Note, text, mapping)
rejections = st.builds(Rejection, text, text, text, text)
actions = st.builds(Action, text, texts)
decisions = rejections | st.builds(Decision, actions, text, st.none() | rejections)
places = st.none() | floats
sightings = st.builds(Sighting, text, floats, places, places)
sectors = st.builds(
    Sector, floats, floats, text, st.lists(sightings, max_size=2).map(tuple)
)
percepts = st.builds(
    Percept, st.lists(sectors, max_size=2).map(tuple), st.sampled_from("ab")
)
steps = st.builds(
    Step,
    text,
    mapping,
    decisions,
    st.builds(Feedback, text, mapping),
    mapping,
    st.lists(calls, max_size=3),
    st.lists(notes, max_size=2),
    floats,
    st.none() | percepts,
)
endings = st.sampled_from(["stopped", "step_limit", "failed"])
verdicts = st.builds(
    Verdict, counts, counts, st.none() | st.booleans(), endings, counts
)


def _trajectories(
    earlier: st.SearchStrategy[list[Trajectory]],
) -> st.SearchStrategy[Trajectory]:
    return st.builds(
        Trajectory,
        text,
        st.dictionaries(text, mapping, max_size=2),
        st.lists(steps, max_size=3),
        mapping,
        endings,
        text,
        st.lists(calls, max_size=2),
        st.lists(notes, max_size=2),
        floats,
        earlier,
        st.none() | verdicts,
        st.lists(calls, max_size=1),
        st.lists(notes, max_size=1),
    )


trials = _trajectories(st.just([]))
trajectories = trials | _trajectories(st.lists(trials, max_size=2))
