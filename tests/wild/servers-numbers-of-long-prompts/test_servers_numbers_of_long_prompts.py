"""Numbers in the refusal of a long prompt that are not the window."""

from __future__ import annotations

import pytest

from wayword.models.servers.profile import Profile
from wayword.models.servers.refusals import learn, read

WINDOWS = {
    "invalid params, context window exceeds limit (2013)": 0,
    "context window exceeds limit (8192 tokens)": 8192,
    "Prompt exceeds max length": 0,
    "tokens to keep are more than the context length (n_keep: 5000>= n_ctx: 4096)": 4096,
    "Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)": 7424,
    "prompt too long; exceeded max context length by 430 tokens": 0,
    "too many tokens: size limit exceeded by 11326 tokens.": 0,
    "total message size 10176584 exceeds limit 2097152": 0,
    "Input is too long. Max length is 240000 characters": 0,
    "context length exceeded: requested 130k tokens, limit is 128k": 0,
    "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.": 131040,
    "Input length (265330) exceeds model's maximum context length (262144).": 262144,
    "The input (263000 tokens) is longer than the model's context length (262144 tokens).": 262144,
    "Prompt too long: 5152 tokens exceeds max_seq_len 2048 (leave room for output)": 2048,
    "The prompt (total length 25938) is too long to fit into the model (context length 4096)": 4096,
}


@pytest.mark.parametrize("text", WINDOWS)
def test_the_window_is_the_number_that_is_called_so(text: str) -> None:
    refusal = read(400, {"error": {"message": text}}, ("max_tokens",))
    assert (refusal.kind, refusal.window) == ("prompt too long", WINDOWS[text])
    lesson = learn(refusal, Profile(), {"max_tokens": 400})
    assert (lesson is not None) == bool(WINDOWS[text])
