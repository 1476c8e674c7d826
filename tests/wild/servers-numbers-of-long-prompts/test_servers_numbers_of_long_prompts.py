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
}


@pytest.mark.parametrize("text", WINDOWS)
def test_the_window_is_the_number_that_is_called_so(text: str) -> None:
    refusal = read(400, {"error": {"message": text}}, ("max_tokens",))
    assert (refusal.kind, refusal.window) == ("prompt too long", WINDOWS[text])
    lesson = learn(refusal, Profile(), {"max_tokens": 400})
    assert (lesson is not None) == bool(WINDOWS[text])
