"""Settings of ``openai:``, shared by the modules that build and read requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from wayword.core.episode import Json


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """How to reach a server, and what it understands.

    ``base_url`` is the address up to ``/v1``; without it ``$OPENAI_BASE_URL``, else OpenAI's own.
    ``key_env`` names the environment variable that holds the key; a key itself is never a
    setting. ``timeout`` is in seconds.

    ``dialect`` says how answers are constrained: ``openai`` (``response_format``), ``llamacpp``
    (``json_schema`` and ``grammar``) or ``vllm`` (``structured_outputs``). Grammars, and
    constraints on raw text, need one of the last two. ``text_as="message"`` sends raw text as one
    user message, for servers without a completions route.

    ``choose`` is ``logprobs`` (rank by the server's ``top_logprobs`` likeliest tokens) or
    ``constrained`` (let the model write one of the options: a winner, no ranking).
    ``one_sample_a_call`` is for servers that refuse ``n``. ``omit`` names request fields that a
    server refuses (``temperature``, say); ``extra`` adds fields (``reasoning_effort``, say).
    """

    base_url: str = ""
    key_env: str = "OPENAI_API_KEY"
    timeout: float = 600.0
    dialect: Literal["openai", "llamacpp", "vllm"] = "openai"
    text_as: Literal["completion", "message"] = "completion"
    choose: Literal["logprobs", "constrained"] = "logprobs"
    top_logprobs: int = 20
    one_sample_a_call: bool = False
    omit: tuple[str, ...] = ()
    extra: Mapping[str, Json] = field(default_factory=dict)
