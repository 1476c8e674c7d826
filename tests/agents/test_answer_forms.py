"""Two hundred forms of answers, each with its reading or the kind of its rejection, in every world.

``{a}`` and ``{b}`` are two names that can be chosen, and ``A`` and ``B`` the actions ``goto[{a}]``
and ``goto[{b}]``. A reading is an action, a choice, ``stop``, or the kind of a rejection.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from wayword.agents.answers import (
    NamedAnswer,
    StrategyRecipe,
    read_choice,
    read_pick,
)
from wayword.agents.legal import Legal, Refusal, pick
from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.episode import Episode
from wayword.worlds.babyai.world import BabyAIWorld
from wayword.worlds.household.builder import SceneBuilder
from wayword.worlds.household.verbs import Body
from wayword.worlds.household.world import HouseholdWorld
from wayword.worlds.objectnav.world import MENU

# Answers of a strategy: text, reading.
ACTION_FORMS = (
    # The call, and how it is spelled.
    ("Action: goto[{a}]", "A"),
    ("Action: goto [{a}]", "A"),
    ("Action: goto[ {a} ]", "A"),
    ("Action: goto({a})", "A"),
    ("Action: goto ({a})", "A"),
    ('Action: goto("{a}")', "A"),
    ("Action: goto('{a}')", "A"),
    ("Action: goto[`{a}`]", "A"),
    ("Action: goto[the {a}]", "A"),
    ('Action: goto(target="{a}")', "A"),
    ("Action: goto[object: {a}]", "A"),
    ("Action: goto[{a} (on the counter)]", "A"),
    ('Action: goto({{"object": "{a}"}})', "A"),
    ("Action: goto【{a}】", "A"),
    ("Action: goto（{a}）", "A"),
    # A tool call as text, a box, an introduction, brackets around it all.
    ('{{"name": "goto", "arguments": {{"object": "{a}"}}}}', "A"),
    ('{{"action": {{"name": "goto", "arguments": ["{a}"]}}}}', "A"),
    ('{{"tool": "goto", "tool_input": "{a}"}}', "A"),
    ('{{"action": "goto", "args": {{"object": "{a}"}}}}', "A"),
    (
        '<tool_call>{{"name": "goto", "arguments": {{"object": "{a}"}}}}</tool_call>',
        "A",
    ),
    ("Action: \\boxed{{goto[{a}]}}", "A"),
    ("The action is goto[{a}].", "A"),
    ("Final Answer: goto[{a}]", "A"),
    ("Action: [stop]", "stop"),
    ("Action: <stop>", "stop"),
    ("Action: ...", "empty"),
    ("Action: Goto[{a}]", "A"),
    ("Action: GOTO[{a}]", "A"),
    ("Action: go to[{a}]", "A"),
    ("Action: go-to[{a}]", "A"),
    ("Action: go_to[{a}]", "A"),
    ("Action: goto {a}", "A"),
    ("Action: go to {a}", "A"),
    ("Action: go to the {a}", "A"),
    ("Action: goto: {a}", "A"),
    ("Action: goto = {a}", "A"),
    ("Action: goto '{a}'", "A"),
    ("Action: stop", "stop"),
    ("Action: stop[]", "stop"),
    ("Action: stop()", "stop"),
    ("Action: Stop.", "stop"),
    ("Action: STOP!", "stop"),
    # Wrappings around the call.
    ("Action: `goto[{a}]`", "A"),
    ("Action: ```goto[{a}]```", "A"),
    ("Action:\n```\ngoto[{a}]\n```", "A"),
    ("Action:\n```python\ngoto[{a}]\n```", "A"),
    ("Action: **goto[{a}]**", "A"),
    ("Action: *goto[{a}]*", "A"),
    ('Action: "goto[{a}]"', "A"),
    ("Action: “goto[{a}]”", "A"),
    ("Action: <goto[{a}]>", "A"),
    ("Action: [goto[{a}]]", "A"),
    ("Action: (goto[{a}])", "A"),
    ("Action: {{goto[{a}]}}", "A"),
    ("Action: $goto[{a}]$", "A"),
    ("Action: > goto[{a}]", "A"),
    ("Action: 1. goto[{a}]", "A"),
    ("Action: - goto[{a}]", "A"),
    ("Action: Action: goto[{a}]", "A"),
    ("Action:\n\ngoto[{a}]", "A"),
    ("Action :goto[{a}]", "A"),
    ("Action：goto[{a}]", "A"),
    ("**Action:** goto[{a}]", "A"),
    ("**Action**: goto[{a}]", "A"),
    ("### Action\ngoto[{a}]", "A"),
    ("- Action: goto[{a}]", "A"),
    ("Action 1: goto[{a}]", "A"),
    ("ACTION: goto[{a}]", "A"),
    ("<action>goto[{a}]</action>", "A"),
    ("<think>goto[{b}]?</think>\n<action>goto[{a}]</action>", "A"),
    ("<action>\ngoto[{a}]\n</action>", "A"),
    ("goto[{a}]", "A"),
    ("The way is clear.\ngoto[{a}]", "A"),
    ("Action: goto[{a}]\r\n", "A"),
    ("Action: \u200bgoto[{a}]\u00a0", "A"),
    ('{{"thought": "x", "action": "goto[{a}]"}}', "A"),
    ('```json\n{{"action": "goto[{a}]"}}\n```', "A"),
    ('{{"action": "goto", "argument": "{a}"}}', "A"),
    ('{{"action": "goto", "arguments": ["{a}"]}}', "A"),
    ('{{"action": "goto", "action_input": {{"object": "{a}"}}}}', "A"),
    ("Action: goto\nAction Input: {a}", "A"),
    ('Action: goto\nAction Input: "{a}"', "A"),
    ("Action: goto[{a}]\nAction Input: N/A", "A"),
    ("Action: goto[{a}]\nAction Input: None", "A"),
    ("Action: stop\nAction Input: N/A", "stop"),
    # Text after the call is thought.
    ("Action: goto[{a}].", "A"),
    ("Action: goto[{a}],", "A"),
    ("Action: goto[{a}];", "A"),
    ("Action: goto[{a}]!", "A"),
    ("Action: goto[{a}]?", "A"),
    ("Action: goto[{a}] because it is near", "A"),
    ("Action: goto[{a}] since there is no other", "A"),
    ("Action: goto[{a}]. This gets me closer.", "A"),
    ("Action: goto[{a}]. Then I will look around.", "A"),
    ("Action: goto[{a}]. Then I will goto[{b}].", "A"),
    ("Action: goto[{a}], not goto[{b}]", "A"),
    ("Action: goto[{a}] rather than goto[{b}]", "A"),
    ("Action: goto[{a}] so that I can see {b}", "A"),
    ("Action: goto[{a}] to look for it", "A"),
    ("Action: goto[{a}] # why", "A"),
    ("Action: goto[{a}] // the nearest", "A"),
    ("Action: goto[{a}] (on the counter)", "A"),
    ("Action: goto[{a}] (or maybe it is elsewhere)", "A"),
    ("Action: goto[{a}] - it is near", "A"),
    ("Action: goto[{a}] — it is near", "A"),
    ("Action: goto[{a}] -> I expect to see it", "A"),
    ("Action: goto[{a}] ✅", "A"),
    ("Action: goto[{a}] maybe it is there", "A"),
    ("Action: goto[{a}] | distance 2 m", "A"),
    ("Action: goto[{a}] [confidence: 0.9]", "A"),
    ("Action: goto[{a}]\nThat is near.", "A"),
    ("Action: goto[{a}]\nReason: it is near", "A"),
    ("Action: goto[{a}]\nThought: next is goto[{b}] later", "A"),
    ("Action: goto[{a}]\nObservation: I am there.\nAction: goto[{b}]", "A"),
    ("Action: goto[{a}]\nObservation 1: I am there.\nThought: on\nAction: stop", "A"),
    ("Action: goto[{a}]</s>", "A"),
    ("Action: goto[{a}]<|im_end|>", "A"),
    ("Action: goto[{a}]<|eot_id|>", "A"),
    ("Action: goto[{a}]<|endoftext|>Human: go on", "A"),
    ("Action: goto[{a}]<end_of_turn>", "A"),
    ("Action: goto[{a}]<｜end▁of▁sentence｜>", "A"),
    ("Action: goto[{a}]\n<|im_end|>\n<|im_start|>user\nAction: goto[{b}]", "A"),
    ("<s>Action: goto[{a}]</s>", "A"),
    ("goto[{a}] because it is near\nThen I will see.", "A"),
    ("Action: goto[{a}] and it [goto[{b}]] is far", "A"),
    ("Action: goto[{a}] step(goto[{b}])", "several_actions"),
    ("Action: stop because I am there", "stop"),
    ("Action: stop. I have arrived.", "stop"),
    ("Action: stop (I am there)", "stop"),
    ("Action: stop</s>", "stop"),
    ("Action: stop # done", "stop"),
    ("Action: stop\nI have arrived.", "stop"),
    ("Action: goto {a} because it is near", "A"),
    ("Action: goto {a}, since {b} is far", "A"),
    ("Action: goto {a} (on the counter)", "A"),
    ("Action: goto {a}. Then I will look around.", "A"),
    ("Action: goto {a}\nThat is near.", "A"),
    ("Action: goto {a} # why", "A"),
    ("Action: goto {a}</s>", "A"),
    # Two actions are never one.
    ("Action: goto[{a}] goto[{b}]", "several_actions"),
    ("Action: goto[{a}], goto[{b}]", "several_actions"),
    ("Action: goto[{a}]; stop", "several_actions"),
    ("Action: goto[{a}] and goto[{b}]", "several_actions"),
    ("Action: goto[{a}] then goto[{b}]", "several_actions"),
    ("Action: goto[{a}]. Then stop.", "several_actions"),
    ("Action: goto[{a}] or goto[{b}]", "several_actions"),
    ("Action: goto[{a}] -> goto[{b}]", "several_actions"),
    ("Action: goto[{a}]\ngoto[{b}]", "several_actions"),
    ("Action: 1. goto[{a}] 2. goto[{b}]", "several_actions"),
    ("Action:\n1. goto[{a}]\n2. goto[{b}]", "several_actions"),
    ("Action: goto[{a}]\nAction: goto[{b}]", "several_actions"),
    ("goto[{b}]\nAction: goto[{a}]", "several_actions"),
    ("goto[{a}]\ngoto[{b}]", "several_actions"),
    ('{{"action": "goto[{a}]", "action": "goto[{b}]"}}', "several_actions"),
    ('{{"action": "goto[{a}]"}}\n{{"action": "goto[{b}]"}}', "several_actions"),
    ("Action: goto {a}, then stop", "several_actions"),
    ("Action: goto {a} or stop", "several_actions"),
    ("Action: stop, stop", "several_actions"),
    # A bare action that is put in question, taken back or hedged.
    ("Action: stop? No.", "no_action"),
    ("Action: goto {a}?", "no_action"),
    ("Action: stop, or maybe look around", "no_action"),
    ("Action: stop unless there is more", "no_action"),
    ("Action: goto {a}, no", "no_action"),
    # No action.
    ("", "empty"),
    ("Action:", "empty"),
    ("Action: ``", "empty"),
    ("<think>goto[{a}]</think>", "empty"),
    ("Thought: near", "no_action"),
    ("I would like to see the garden.", "no_action"),
    ("Action: do not goto[{a}]", "no_action"),
    ("Action: maybe goto[{a}]", "no_action"),
    ("Action: I think that is best", "no_action"),
    ("Action: goto[{a}", "no_action"),
    ("Action: {{{a}}}", "no_action"),
    ('{{"action": "goto[{a}]"', "no_action"),
    ('{{"thought": "x"}}', "no_action"),
    ("[1, 2]", "no_action"),
    ("Action: fly[{a}]", "unknown"),
    ("Action: fly away", "unknown"),
    ("Action: goto", "unknown"),
    ("Action: done", "unknown"),
)

# Answers of NavGPT and DiscussNav: a name, or ``stop``.
CHOICE_FORMS = (
    ("Action: action_maker\nAction Input: {a}", "a"),
    ('Action: action_maker\nAction Input: "{a}"', "a"),
    ("Action Input: {a}", "a"),
    ("Action Input: '{a}'.", "a"),
    ("Action Input: Viewpoint_{a}", "a"),
    ("Action Input: viewpoint {a}", "a"),
    ("Action Input: {{'viewpoint': '{a}'}}", "a"),
    ('{{"thought": "x", "arrived": false, "action": "{a}"}}', "a"),
    ('Action: action_maker("{a}")', "a"),
    ("Action: Move to Viewpoint '{a}'\nAction Input: N/A", "a"),
    ("Action: {a}\nAction Input: None", "a"),
    ("Action: N/A\nPrediction: {a}", "a"),
    ("Prediction: Direction {a}", "a"),
    ("Action Input: {a} (heading 30 degrees, ahead)", "a"),
    ('Action Input: "{a}" because {b} is farther', "a"),
    ("Action Input: {a}, since {b} is behind me", "a"),
    ("Action Input: {a}\nObservation: I am there.\nAction Input: {b}", "a"),
    ("Action Input: {a}</s>", "a"),
    ("Action Input: {a}<|im_end|>", "a"),
    ("<|channel|>analysis<|message|>{b}?<|end|><|start|>assistant<|channel|>final"
     "<|message|>Action Input: {a}", "a"),
    ("Action Input: {a} or {b}", "several_actions"),
    ("Action Input: {a}, {b}", "several_actions"),
    ("Action Input: {a}\nAction Input: {b}", "several_actions"),
    ("Action Input: {a}\nFinal Answer: Finished!", "several_actions"),
    ("Action Input: not {a}", "no_action"),
    ("Action Input: {a}? No.", "no_action"),
    ("Action Input: {a} or maybe elsewhere", "unknown"),
    ("Action Input: N/A", "empty"),
    ("Action Input: elsewhere", "unknown"),
    ("I walk to {a}.", "no_action"),
    # The end of a walk.
    ("Final Answer: Finished!", "stop"),
    ('Final Answer: "finished"', "stop"),
    ("Action: N/A\nFinal Answer: Finished!", "stop"),
    ("Final Answer: Finished. I am not moving.", "stop"),
    ("Final Answer: Finished! I do not need to go further.", "stop"),
    ("Final Answer: I have reached the sofa.", "stop"),
    ("Final Answer: I am there.", "stop"),
    ("Final Answer: Stop here", "stop"),
    ("Action Input: finished", "stop"),
    ('{{"thought": "x", "arrived": true, "action": "{a}"}}', "stop"),
    ("Final Answer: Not finished", "no_action"),
    ("Final Answer: Not finished yet", "no_action"),
    ("Final Answer: I have not reached the goal yet", "no_action"),
    ("Final Answer: we are not there", "no_action"),
    ("Final Answer: We are not there yet, keep going.", "no_action"),
    ("Final Answer: I haven't arrived yet.", "no_action"),
    ("Final Answer: Keep walking to the kitchen", "no_action"),
    ("Final Answer: Continue.", "no_action"),
    ("Final Answer: almost there", "no_action"),
    ("Final Answer: Finished? No.", "no_action"),
    ("Final Answer: I will stop once I see the sofa", "no_action"),
    ("Final Answer: The kitchen", "no_action"),
    ("Final Answer: No", "no_action"),
    ("Final Answer: {a}", "several_actions"),
)  # fmt: skip


def household() -> ActionSpace:
    """A kitchen, whose action space accepts every well-formed action."""
    scene = SceneBuilder("flat")
    scene.room("kitchen", [(0, 0), (5, 0), (5, 4), (0, 4)])
    counter = scene.furniture(
        "counter", 2, 3.6, 2.5, 0.6, 0.9, receptacle="on", capacity=9
    )
    scene.item("pot", parent=counter, x=1.2)
    scene.item("pan", parent=counter, x=1.7)
    world = HouseholdWorld(scene.build(), Body(answers=False))
    pose = {"agent": {"x": 2.0, "y": 1.5, "heading": 0.0}}
    world.reset(Episode("1", "x", "flat", {"poses": pose}))
    world.observe("agent")
    return world.action_space("agent")


def babyai() -> ActionSpace:
    """A grid, whose action space accepts every skill with any name."""
    world = BabyAIWorld("GoToObj", "high")
    world.reset(Episode("1", "x", "GoToObj", {"seed": 0}))
    world.observe("agent")
    return world.action_space("agent")


def listed(*names: str, open_verbs: tuple[str, ...] = ()) -> ActionSpace:
    return ActionSpace((*(Action("goto", (n,)) for n in names), STOP), open_verbs)


def open_names() -> ActionSpace:
    space = listed("mug_1", "cup_2", open_verbs=("chat",))
    return ActionSpace(
        space.listed, space.open_verbs,
        accepts=lambda action: action == STOP
        or (action.name == "goto" and len(action.arguments) == 1),
    )  # fmt: skip


SPACES: dict[str, tuple[Callable[[], ActionSpace], str, str]] = {
    "viewpoints": (lambda: listed("ab12", "cd34"), "ab12", "cd34"),
    "viewpoints and messages": (
        lambda: listed("ab12", "cd34", open_verbs=("chat", "ask")), "ab12", "cd34"
    ),
    "household": (household, "pot_1", "pan_1"),
    "babyai": (babyai, "green_key_1", "green_key_1"),
    "any name": (open_names, "mug_1", "cup_2"),
}  # fmt: skip
"""Action spaces: how they are made, and two names in them."""
REACT = StrategyRecipe("Thought: why\nAction: what", "react")
ALL_FORMS = len(ACTION_FORMS) + len(CHOICE_FORMS)


def read_action(text: str, space: ActionSpace, a: str, b: str) -> str:
    outcome = REACT.decision(text, Legal(space)).outcome
    if isinstance(outcome, Rejection):
        return outcome.kind
    assert isinstance(outcome, Decision)
    written = str(outcome.action)
    return {f"goto[{b}]": "B", f"goto[{a}]": "A"}.get(written, written)


def read_name(text: str, a: str, b: str) -> str:
    outcome = read_choice(text, [a, b])
    if isinstance(outcome, Rejection):
        return outcome.kind
    assert isinstance(outcome, NamedAnswer)
    return {a: "a", b: "b", None: "stop"}[outcome.choice]


def test_the_table_has_two_hundred_forms() -> None:
    assert ALL_FORMS >= 200
    assert len({form for form, _ in (*ACTION_FORMS, *CHOICE_FORMS)}) == ALL_FORMS


@pytest.mark.parametrize("world", SPACES)
def test_every_form_has_its_reading_in_every_world(world: str) -> None:
    make, a, b = SPACES[world]
    space = make()
    wrong = {}
    for form, reading in ACTION_FORMS:
        text = form.format(a=a, b=b)
        if a == b and "{b}" in form:
            continue  # a world with one object has no second name
        if (found := read_action(text, space, a, b)) != reading:
            wrong[text] = (found, reading)
    assert not wrong


@pytest.mark.parametrize("names", [("ab12", "cd34"), ("3", "4"), ("hall", "v_7")])
def test_every_form_of_a_choice_has_its_reading_with_any_names(
    names: tuple[str, str],
) -> None:
    wrong = {}
    for form, reading in CHOICE_FORMS:
        text = form.format(a=names[0], b=names[1])
        if (found := read_name(text, *names)) != reading:
            wrong[text] = (found, reading)
    assert not wrong


def test_a_motion_by_numbers_is_read_like_one_by_name() -> None:
    legal = Legal(MENU)
    for text in ("rotate[-45]", "rotate(-45) to face it", "rotate[-45]. Then I look."):
        assert legal.read(text) == Action("rotate", ("-45",)), text
    point = Action("goto", ("1.25", "-3"))
    assert legal.read("goto[1.25, -3] because it is free") == point


def test_a_message_has_no_keyword() -> None:
    legal = Legal(listed("ab12", open_verbs=("chat",)))
    for text in (
        'chat(message="I\'m here, come")',
        'do(action="chat", message="I\'m here, come")',
        "chat[I'm here, come]",
    ):
        assert legal.read(text) == Action("chat", ("I'm here, come",)), text
    # An action inside a message is not meant.
    spoken = legal.read('chat(action="stop")')
    assert spoken == Action("chat", ("stop",))


@pytest.mark.parametrize("hedge", ["or", "maybe", "perhaps", "unless", "instead"])
def test_a_hedge_after_a_bare_name_is_refused_and_elsewhere_is_thought(
    hedge: str,
) -> None:
    for text in (f"bed {hedge} elsewhere", f"bed, {hedge} elsewhere"):
        refused = pick(text, ["bed", "table"])
        assert isinstance(refused, Refusal), text
        assert refused.kind == "unknown"
    call = f"goto[bed], {hedge} that is wrong"
    assert Legal(listed("bed")).read(call) == Action("goto", ("bed",))
    later = f"bed because it is near. That is good {hedge} bad"
    assert read_pick(later, ["bed", "table"]) == "bed"
