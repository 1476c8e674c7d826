"""Models behind any server with OpenAI's interface: OpenAI, vLLM, SGLang, Ollama, llama.cpp …

Source: https://platform.openai.com/docs/api-reference
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from wayword.core.errors import ModelError, UsageError
from wayword.core.model import Choice, Completion, Prompt, Sampling, Usage
from wayword.models.parts.options import continued
from wayword.models.servers import answers
from wayword.models.servers.answers import model_error, ranked
from wayword.models.servers.requests import Request, ServerSettings, request

if TYPE_CHECKING:
    from openai import AsyncOpenAI

UNRANKED = -1000.0
"""Stands for the options that ``choose=constrained`` did not pick: it knows a winner only."""

_HOSTED = "https://api.openai.com/v1"


class OpenAIModel:
    """A model behind a server: ``openai:gpt-5.1``, or your own with ``base_url``.

    >>> model = OpenAIModel("qwen3", ServerSettings(base_url="http://127.0.0.1:8000/v1"))

    The key comes from ``$OPENAI_API_KEY`` (or the variable ``key_env`` names) and is never
    written anywhere; a server on this machine needs none. The SDK's own retries are off: the
    wrapper ``wrapping.retry`` does them, so that they are counted and limited.

    ``choose`` ranks by the server's lists of likely tokens; see ``compatible.ranking`` for what
    it can and cannot tell. Raises ``UsageError`` where the key is missing.
    """

    Settings = ServerSettings

    def __init__(self, name: str, settings: ServerSettings | None = None) -> None:
        given = settings or ServerSettings()
        base = given.base_url or os.environ.get("OPENAI_BASE_URL", "")
        if urlsplit(base).username or urlsplit(base).password:
            raise UsageError(
                f"openai:{name}: the address holds a user name or password, which a run folder "
                f"would keep; put the key into ${given.key_env} instead"
            )
        self._settings = replace(given, base_url=base)
        self._model, self._name = name, f"openai:{name}"
        self._address = base or _HOSTED
        self._key = os.environ.get(given.key_env, "")
        if not self._key and not _on_this_machine(self._address):
            raise UsageError(
                f"{self._name}: set ${given.key_env}, or the setting 'base_url' to a local server"
            )
        self._client: AsyncOpenAI | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def name(self) -> str:
        return self._name

    @property
    def identity(self) -> str:
        """Name, address and request settings: what decides about the answers."""
        s = self._settings
        extra = json.dumps(dict(s.extra), sort_keys=True)
        return (
            f"{self._name} at {self._address} {s.dialect} {s.text_as} {s.choose} {s.omit} {extra}"
        )

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        """Write ``sampling.n`` continuations. Raises ``ModelError``."""
        began = time.perf_counter()
        asked = request(self._model, prompt, sampling, self._settings)
        replies = await self._samples(asked, sampling)
        chosen = [choice for reply in replies for choice in answers.choices(reply)][: sampling.n]
        return Completion(
            texts=tuple(answers.text(choice, asked) for choice in chosen),
            finish=tuple(str(choice.get("finish_reason") or "") for choice in chosen),
            usage=sum((answers.usage(reply) for reply in replies), Usage()),
            logprobs=answers.logprobs(chosen[0]),
            seconds=time.perf_counter() - began,
        )

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        """Rank the options as the prompt's next words. Raises ``ModelError``."""
        began = time.perf_counter()
        if not options or not all(option.strip() for option in options):
            raise ModelError("choose needs at least one option, and none may be empty")
        if self._settings.choose == "constrained":
            choice = await self._picked(prompt, tuple(options))
        else:
            choice = await self._ranked(prompt, tuple(options))
        return replace(choice, seconds=time.perf_counter() - began)

    async def aclose(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            await client.close()

    async def _samples(self, asked: Request, sampling: Sampling) -> list[Any]:
        """As many answers as it takes: some servers ignore ``n`` and send one sample."""
        whole = 1 if self._settings.one_sample_a_call else sampling.n
        replies = [await self._post(asked.with_samples(whole, sampling.seed))]
        missing = sampling.n - len(answers.choices(replies[0]))
        if missing > 0:
            seeds = [
                None if sampling.seed is None else sampling.seed + 1 + i for i in range(missing)
            ]
            more = (self._post(asked.with_samples(1, seed)) for seed in seeds)
            replies += await asyncio.gather(*more)
        return replies

    async def _picked(self, prompt: Prompt, options: tuple[str, ...]) -> Choice:
        answer = await self.complete(prompt, Sampling(choices=options))
        if answer.text not in options:
            raise ModelError(f"{self._name}: the server let {answer.text[:40]!r} be an answer")
        values = tuple(0.0 if option == answer.text else UNRANKED for option in options)
        return Choice(options, values, answer.usage)

    async def _ranked(self, prompt: Prompt, options: tuple[str, ...]) -> Choice:
        walk = isinstance(prompt, str) and self._settings.text_as == "completion"
        usage = Usage()
        if isinstance(prompt, str):
            pairs = [continued(prompt, option) for option in options]
            prompt, endings = pairs[0][0], [ending for _, ending in pairs]
        if not walk:
            endings = [option.strip() for option in options]

        async def listed(continuation: str) -> Mapping[str, float]:
            nonlocal usage
            longer = prompt + continuation if isinstance(prompt, str) else prompt
            once = Sampling(max_tokens=1, logprobs=self._settings.top_logprobs)
            reply = await self._post(request(self._model, longer, once, self._settings))
            usage += answers.usage(reply)
            tokens = answers.logprobs(answers.choices(reply)[0])
            return {tokens[0].token: tokens[0].logprob, **tokens[0].alternatives} if tokens else {}

        try:
            values = await ranked(endings, listed, walk=walk)
        except ModelError as error:
            if error.retryable:
                raise
            raise ModelError(f"{self._name}: {error}") from None
        return Choice(options, values, usage)

    async def _post(self, asked: Request) -> Any:
        client = self._connected()
        import openai

        try:
            return await client.post(asked.route, cast_to=object, body=asked.body)
        except (openai.OpenAIError, ValueError) as error:
            raise model_error(error, self._address) from None

    def _connected(self) -> AsyncOpenAI:
        """The client of the running loop; connections cannot move from one loop to another."""
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            from openai import AsyncOpenAI

            self._client = AsyncOpenAI(
                api_key=self._key or "none",
                base_url=self._address,
                timeout=self._settings.timeout,
                max_retries=0,
            )
            self._loop = loop
        return self._client


def _on_this_machine(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


model = OpenAIModel
