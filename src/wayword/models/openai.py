"""Models behind any server with OpenAI's interface: OpenAI, vLLM, SGLang, Ollama, llama.cpp …

Source: https://platform.openai.com/docs/api-reference
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from wayword.core.episode import Json
from wayword.core.errors import ModelError, UsageError
from wayword.core.loopback import is_loopback_url
from wayword.core.model import Choice, Completion, Message, Model, Prompt, Sampling, Usage, user
from wayword.core.secrets import MASK, hidden, is_secret, redacted, remember
from wayword.models.parts.decoding import checked_options, continued, picked
from wayword.models.servers import answers
from wayword.models.servers.answers import Unranked, ranked
from wayword.models.servers.connection import Connection, Refused
from wayword.models.servers.profile import Profile, learnt, profile_of
from wayword.models.servers.requests import HEADERS, Request, ServerSettings, request

_TOO_LONG = re.compile(r"context|too (?:long|many tokens)", re.IGNORECASE)
"""A prompt that a server has no room for says nothing about its other routes and prompts."""
_HOSTED = "https://api.openai.com/v1"
_CONTINUE = "\n\n(The text breaks off here. What comes next is one of the following.)"
_AGAIN = "That is none of the options. Answer with exactly one of them:\n"


_UNREADABLE = (TypeError, AttributeError, ValueError, KeyError, IndexError, RecursionError)


@dataclass(slots=True)
class _Bill:
    """Tokens of all requests of one call, those that failed included."""

    usage: Usage = field(default_factory=Usage)


class OpenAIModel(Model):
    """A model behind a server: ``openai:gpt-5.1``, or your own with ``base_url``.

    >>> model = OpenAIModel("qwen3", ServerSettings(base_url="http://127.0.0.1:8000/v1"))

    The key comes from ``$OPENAI_API_KEY`` (or the variable ``key_env`` names) and is never
    written anywhere; a server on this machine needs none. Nothing is tried again here: the wrapper
    ``RetryingModel`` does it, so that it is counted and limited.

    What the model takes is known by its name (``models/profiles.yaml``). A refusal that names a
    field teaches the rest: the request is made again without it, and so are all later ones. The
    first request of each shape goes alone, so that a refusal is met once.

    ``choose`` ranks by the server's lists of likely tokens; where it gives none, the model is
    asked to write one of the options (``Choice.picked``). Raises ``UsageError`` where the key is
    missing.
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
        address = base or _HOSTED
        key = os.environ.get(given.key_env, "")
        if not key and not is_loopback_url(address) and HEADERS not in given.extra:
            raise UsageError(
                f"{self._name}: set ${given.key_env}, or the setting 'base_url' to a local server"
            )
        hosted = (urlsplit(address).hostname or "").endswith("api.openai.com")
        self._profile = profile_of(name, given.profile, hosted)
        self._server = Connection(address, key, self._settings)
        self._taken: set[tuple[str, ...]] = set()
        self._gates: defaultdict[tuple[str, ...], asyncio.Lock] = defaultdict(asyncio.Lock)
        self._refused: ModelError | None = None
        self.lessons: list[str] = []

    @property
    def name(self) -> str:
        return self._name

    @property
    def profile(self) -> Profile:
        """What the model takes, as far as it is known now."""
        return self._profile

    @property
    def window(self) -> int:
        """Tokens of prompt and answer, by the profile or the server; 0 for unknown.

        What is kept for thinking is not the prompt's.
        """
        asked, known = self._settings.thinking, self._profile
        return max(0, known.window - (known.thinking if asked is None else asked))

    async def prepare(self) -> None:
        """Ask the server for the window where the name does not tell it."""
        import aiohttp  # noqa: F401 - takes 0.2 s, which all episodes would wait at the first call

        if self._profile.window:
            return
        listed = await self._server.models()
        own = [told for told in listed if told.get("id") == self._model] or listed
        if len(own) == 1:  # llama.cpp lists its one model by its file
            self._profile = replace(self._profile, window=answers.window(own[0]))

    @property
    def identity(self) -> str:
        """Name, address and request settings: what decides about the answers."""
        s = self._settings
        text_as = "completion" if s.text_as == "auto" else s.text_as
        choose = "logprobs" if s.choose == "auto" else s.choose
        extra = json.dumps(_masked(dict(s.extra)), sort_keys=True)
        line = (
            f"{self._name} at {self._server.shown} {s.dialect} {text_as} {choose} {s.omit} {extra}"
        )
        more = {"profile": s.profile, "thinking": s.thinking}
        chosen = {k: v for k, v in more.items() if v not in ("", None)}
        return f"{line} {json.dumps(chosen, sort_keys=True)}" if chosen else line

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        """Write ``sampling.n`` continuations. Raises ``ModelError``."""
        began = time.perf_counter()
        with self._billed() as bill:
            answer = await self._completed(prompt, sampling, bill)
        return replace(answer, usage=bill.usage, seconds=time.perf_counter() - began)

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        """Rank the options as the prompt's next words. Raises ``ModelError``."""
        began = time.perf_counter()
        with self._billed() as bill:
            choice = await self._chosen(prompt, checked_options(options), bill)
        return replace(choice, usage=bill.usage, seconds=time.perf_counter() - began)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._server.aclose()
        self._gates.clear()  # the next event loop needs locks of its own

    @contextmanager
    def _billed(self) -> Iterator[_Bill]:
        """One call's bill, which its error carries too. An answer that cannot be read as it should
        be is a retryable ``ModelError``."""
        bill = _Bill()
        try:
            yield bill
        except ModelError as error:
            error.billed = bill.usage or None
            raise
        except _UNREADABLE as error:
            line = f"{self._server.shown} sent an unreadable answer: {type(error).__name__}"
            line = redacted(f"{line}: {error}"[:300])
            raise ModelError(line, retryable=True, billed=bill.usage or None) from None

    async def _completed(self, prompt: Prompt, sampling: Sampling, bill: _Bill) -> Completion:
        replies = await self._samples(prompt, sampling, bill)
        chosen = [(c, asked) for asked, reply in replies for c in answers.choices(reply)]
        said = [answers.said(choice, asked) for choice, asked in chosen[: sampling.n]]
        return Completion(
            texts=tuple(one.text for one in said),
            finish=tuple(one.finish for one in said),
            logprobs=answers.logprobs(chosen[0][0]),
            reasoning=tuple(one.reasoning for one in said if any(s.reasoning for s in said)),
            unsent=replies[0][0].unsent,
        )

    async def _samples(
        self, prompt: Prompt, sampling: Sampling, bill: _Bill
    ) -> list[tuple[Request, Any]]:
        """As many answers as it takes: some servers ignore ``n`` and send one sample."""

        def build(profile: Profile, n: int, seed: int | None) -> Request:
            asked = request(self._model, prompt, sampling, self._settings, profile)
            return asked.with_samples(n, seed)

        def whole(profile: Profile) -> Request:
            alone = self._settings.one_sample_a_call or not profile.samples
            return build(profile, 1 if alone else sampling.n, sampling.seed)

        replies = [await self._post(whole, bill)]
        missing = sampling.n - len(answers.choices(replies[0][1]))
        if missing > 0:
            first = sampling.seed
            seeds = [None if first is None else first + 1 + i for i in range(missing)]
            posts = [self._post(partial(build, n=1, seed=seed), bill) for seed in seeds]
            # all are waited for: those that follow a failure are on the bill too
            for found in await asyncio.gather(*posts, return_exceptions=True):
                if isinstance(found, BaseException):
                    raise found
                replies.append(found)
        return replies

    async def _chosen(self, prompt: Prompt, options: tuple[str, ...], bill: _Bill) -> Choice:
        """Ranked where the server can, else picked."""
        settings = self._settings
        if settings.choose == "constrained":
            return await self._picked(prompt, options, bill)
        try:
            if settings.choose == "logprobs" or self._ranks(prompt):
                return await self._ranked(prompt, options, bill)
        except Unranked as error:
            if settings.choose == "logprobs":
                raise ModelError(f"{self._name}: {error}") from None
            if not isinstance(prompt, str):
                self._learn(replace(self._profile, logprobs=0), str(error).split(";")[0])
        return await self._picked(prompt, options, bill)

    def _ranks(self, prompt: Prompt) -> bool:
        """A chat model does not go on with raw text, so its first token says nothing of it."""
        return self._profile.logprobs > 0 and (not isinstance(prompt, str) or self._continues)

    @property
    def _continues(self) -> bool:
        """Whether raw text is continued as it is."""
        as_text = self._settings.text_as
        return as_text == "completion" or (as_text == "auto" and self._profile.completions)

    async def _picked(self, prompt: Prompt, options: tuple[str, ...], bill: _Bill) -> Choice:
        """The option that the model writes, asked a second time where it writes none of them."""
        if isinstance(prompt, str) and not self._continues:
            prompt = [user(prompt + _CONTINUE)]
        room = max(len(option) for option in options) + 32
        sampling = Sampling(max_tokens=room, choices=options)
        answer = await self._completed(prompt, sampling, bill)
        reasoning = answer.reasoning
        if answer.text not in options and not isinstance(prompt, str):
            wrong = Message("assistant", answer.text or "(nothing)")
            prompt = [*prompt, wrong, user(_AGAIN + "\n".join(options))]
            answer = await self._completed(prompt, sampling, bill)
            reasoning += answer.reasoning
        if answer.text not in options:
            long = answer.finish[:1] == ("length",)
            cut = "; it was cut at its limit: raise model.thinking" if long else ""
            line = f"{self._name}: the server let {answer.text[:40]!r} be an answer{cut}"
            raise ModelError(line)
        return picked(options, answer, reasoning)

    async def _ranked(self, prompt: Prompt, options: tuple[str, ...], bill: _Bill) -> Choice:
        walk = isinstance(prompt, str) and self._continues
        if isinstance(prompt, str):
            pairs = [continued(prompt, option) for option in options]
            prompt, endings = pairs[0][0], [ending for _, ending in pairs]
        if not walk:
            endings = [option.strip() for option in options]

        async def listed(continuation: str) -> Mapping[str, float]:
            longer = prompt + continuation if isinstance(prompt, str) else prompt
            once = Sampling(max_tokens=1, logprobs=self._settings.top_logprobs)
            asked, reply = await self._post(
                lambda profile: request(self._model, longer, once, self._settings, profile), bill
            )
            tokens = answers.logprobs(answers.choices(reply)[0])
            if asked.chat == walk:
                raise Unranked("the server has no route for raw text")
            return {tokens[0].token: tokens[0].logprob, **tokens[0].alternatives} if tokens else {}

        values = await ranked(endings, listed, walk=walk)
        return Choice(options, values)

    async def _post(self, build: Callable[[Profile], Request], bill: _Bill) -> tuple[Request, Any]:
        """The request as the profile has it now, and its answer.

        The first request of each shape goes alone. Those that wait for it look again when it has
        been answered: then all of them go at once.
        """
        while True:
            asked = build(profile := self._profile)
            if asked.shape in self._taken:
                reply = await self._attempt(asked, profile, bill)
            else:
                async with self._gates[asked.shape]:
                    if asked.shape in self._taken or profile is not self._profile:
                        continue
                    reply = await self._attempt(asked, profile, bill)
                    if reply is not None:
                        self._taken.add(asked.shape)
            if reply is not None:
                return asked, reply

    async def _attempt(self, asked: Request, profile: Profile, bill: _Bill) -> Any:
        """The answer, or None where a refusal has taught something to try instead."""
        if self._refused is not None:
            raise ModelError(str(self._refused), fatal=True)
        try:
            reply, used = await self._server.post(asked)
            bill.usage += used
            return reply
        except Refused as refusal:
            bill.usage += refusal.billed or Usage()
            stale = profile is not self._profile  # another refusal has taught something meanwhile
            if not stale and not self._taught(refusal, asked):
                raise self._remembered(refusal) from None
        except ModelError as error:
            bill.usage += error.billed or Usage()
            raise self._remembered(error) from None
        return None

    def _taught(self, refusal: Refused, asked: Request) -> bool:
        auto = self._settings.text_as == "auto" and self._profile.completions
        absent = refusal.status in (400, 404, 405, 501) and not _TOO_LONG.search(refusal.said)
        if not asked.chat and auto and absent:
            lesson = replace(self._profile, completions=False), "raw text goes as a message"
        else:
            found = learnt(self._profile, refusal.said, asked.body, refusal.param)
            if found is None or refusal.status == 404:
                return False
            lesson = found
        if build_differs := lesson[0] != self._profile:
            self._learn(*lesson)
        return build_differs

    def _learn(self, profile: Profile, lesson: str) -> None:
        self._profile = profile
        self.lessons.append(f"{self._name}: {lesson}")

    def _remembered(self, error: ModelError) -> ModelError:
        """A refusal that will repeat is not asked for twice; another prompt may be shorter."""
        if error.fatal and not error.retryable and not _TOO_LONG.search(str(error)):
            self._refused = error
        return error


def _masked(value: Json, secret: bool = False) -> Json:
    """Settings without the keys in them: an identity is written to the run folder."""
    if isinstance(value, Mapping):
        return {
            k: {name: hidden(str(name), str(own)) for name, own in v.items()}
            if k in (HEADERS, "headers") and isinstance(v, Mapping)
            else _masked(v, secret or is_secret(str(k)))
            for k, v in value.items()
        }
    if isinstance(value, list):
        return [_masked(one, secret) for one in value]
    if secret and isinstance(value, str):
        remember(value)
        return MASK
    return value


model = OpenAIModel
