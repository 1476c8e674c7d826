"""Tags around the answer, and other forms of reasoning."""

from __future__ import annotations

from typing import Any

import pytest

from wayword.core.model import Usage
from wayword.models.parts.decoding import split_thought
from wayword.models.servers import answers
from wayword.models.servers.requests import Request

REQUEST = Request("/chat/completions", {}, "Go on.", limit=100)
FORMS = (
    "<think>\nA.\n</think>\n<answer>\nB\n</answer>",
    "A.\n</think>\n\n<response>\nB\n</response>\n",
    "<thinking>A.</thinking><output>B</output>",
    '<think effort="low">A.</think>B',
    "< think >A.</ think >B",
    "&lt;think&gt;A.&lt;/think&gt;B",
    "<scratchpad>A.</scratchpad>B",
    '<details type="reasoning" done="true">A.</details>\nB',
    "```thinking\nA.\n```\nB",
    "<|im_start|>assistant\n<think>A.</think>B<|im_end|>",
    "<|channel|>analysis<|message|>A.<|end|><|start|>assistant<|channel|>final<|message|>B",
)
HEADERS = (
    "<|start_header_id|>assistant<|end_header_id|>\n\nB<|eot_id|>",
    "<|assistant|>\nB",
    "<start_of_turn>model\nB<end_of_turn>",
    "assistant\n\nB",
)
UNCHANGED = (
    "The <answer> is B.",
    "<answer>B</answer> it is",
    "assistant B",
    "<action>goto[b]</action>",
    '{"thought": "<think>", "action": "b"}',
)


@pytest.mark.parametrize("content", FORMS)
def test_the_answer_is_the_text_alone(content: str) -> None:
    answer, reasoning = split_thought(content)
    assert answer.strip() == "B"
    assert reasoning.strip().endswith("A.")


@pytest.mark.parametrize("content", HEADERS)
def test_the_header_of_a_turn_is_no_text(content: str) -> None:
    assert split_thought(content)[0].strip() == "B"


@pytest.mark.parametrize("content", UNCHANGED)
def test_other_texts_are_unchanged(content: str) -> None:
    assert split_thought(content) == (content, "")


def test_reasoning_as_an_object_is_kept() -> None:
    message = {"content": "B", "reasoning": {"content": "A."}}
    found = answers.sample({"message": message}, REQUEST)
    assert (found.text, found.reasoning) == ("B", "A.")


@pytest.mark.parametrize(
    "counts",
    [
        {"completion_tokens_details": {"reasoning_tokens": 7}},
        {"output_tokens_details": {"reasoning_tokens": 7}},
        {"reasoning_tokens": 7},
        {"completion_tokens_details": None, "reasoning_tokens": 7.0},
    ],
)
def test_reasoning_is_counted_under_each_name(counts: dict[str, Any]) -> None:
    usage = {"prompt_tokens": 10.0, "completion_tokens": 9, **counts}
    reply = {"choices": [{"message": {"content": "B"}}], "usage": usage}
    bill = answers.usage(reply, REQUEST, Usage)
    assert (bill.prompt, bill.completion, bill.reasoning) == (10, 9, 7)
    assert not bill.estimated
