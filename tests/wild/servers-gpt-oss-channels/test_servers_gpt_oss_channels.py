"""Reasoning in a model's own format leaves the answer."""

from __future__ import annotations

import pytest

from wayword.models.parts.decoding import split_thought

START = "<|start|>assistant"
FORMS = {
    f"<|channel|>analysis<|message|>A.<|end|>{START}<|channel|>final<|message|>B<|return|>": "B",
    "analysisA.assistantfinalB": "B",
    '<|channel|>commentary<|message|>{"path": "A."}<|end|>': "",
    f"<|channel|>analysis<|message|>A.{START}<|channel|>final <|constrain|>json<|message|>B": "B",
    "<|channel|>analysis<|message|>A. never ends": "",
    "<|channel>thought\nA.<channel|>B": "B",  # Gemma
    "<unused94>thought\nA.<unused95>B": "B",  # MedGemma
    "◁think▷A.◁/think▷B": "B",  # Kimi
    "<|START_THINKING|>A.<|END_THINKING|><|START_RESPONSE|>B<|END_RESPONSE|>": "B",  # Cohere
    "<seed:think>A.</seed:think>B": "B",
    "<longcat_think>A.</longcat_think>B": "B",
    "<thought>A.</thought>B": "B",  # Gemini
    "[THINK]A.[/THINK]B": "B",  # Magistral
    "Here is my thought process: A. Here is my response: B": "B",  # Granite
    "A.[BEGIN FINAL RESPONSE]B[END FINAL RESPONSE]": "B",  # Apriel
    "<|think|>A.<|end|><|begin|>assistant<|content|>B": "B",  # Solar
}


@pytest.mark.parametrize("content", FORMS)
def test_the_answer_is_what_follows_the_reasoning(content: str) -> None:
    answer, reasoning = split_thought(content)
    assert answer == FORMS[content]
    assert "A." in reasoning


@pytest.mark.parametrize(
    "content",
    ["analysis of the room: left", "The final answer is left.", "a < b | c > d"],
)
def test_other_texts_are_answers(content: str) -> None:
    assert split_thought(content) == (content, "")


@pytest.mark.parametrize(
    "mark", ["</s>", "<|im_end|>", "<|eot_id|>\n", "<end_of_turn>"]
)
def test_the_mark_of_a_turns_end_is_no_text(mark: str) -> None:
    assert split_thought(f"left{mark}") == ("left", "")
