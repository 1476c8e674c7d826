"""Models on any server with an OpenAI-compatible API: OpenAI, vLLM, SGLang, Ollama, llama.cpp …

Source: https://platform.openai.com/docs/api-reference
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import secrets
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from wayword.core.episode import Json
from wayword.core.errors import ModelError, UsageError
from wayword.core.loopback import is_loopback_url, of_domain
from wayword.core.model import (
    Choice,
    Completion,
    Message,
    Model,
    PictureTokens,
    Prompt,
    Sampling,
    Usage,
    user,
)
from wayword.core.secrets import MASK, hidden, is_secret, redacted, remember
from wayword.models.middleware.budget import EPISODE
from wayword.models.parts.decoding import (
    check_options,
    continued,
    describe_form,
    longest,
    matched,
    picked,
)
from wayword.models.servers import answers
from wayword.models.servers.addresses import address_parts, unquoted
from wayword.models.servers.answers import Unranked, ranked
from wayword.models.servers.batches import BatchConnection
from wayword.models.servers.connection import (
    Connection,
    Refused,
)
from wayword.models.servers.profile import Profile, profile_of
from wayword.models.servers.refusals import ServerRefusal, learn, learn_tools
from wayword.models.servers.requests import (
    HEADERS,
    LEAST_ROOM,
    CacheUse,
    Request,
    ServerSettings,
    held_address,
    request,
)

_HOSTED = "https://api.openai.com/v1"
_NEXT_PROMPT = "\n\n(The text breaks off here. Which of the following comes next?)"
_REPEAT_PROMPT = "That is none of the options. Answer with exactly one of them:\n"
_MOST_REQUESTS = 4  # until the server accepts the fields of a call
_ABSENT_ROUTE = ("wrong address", "unknown", "field unknown")
"""Meanings of a refusal of raw text, which mean the same for a server without its route."""
_UNREADABLE = (
    TypeError,
    AttributeError,
    ValueError,
    KeyError,
    IndexError,
    RecursionError,
)


@dataclass
class _Bill:
    """Tokens of all requests of one call, including failed ones."""

    usage: Usage = field(default_factory=Usage)


class OpenAIModel(Model):
    """A model on a server: ``openai:gpt-5.1``, or on your own server with ``base_url``.

    >>> model = OpenAIModel("qwen3", ServerSettings(base_url="http://127.0.0.1:8000/v1"))

    The key comes from ``$OPENAI_API_KEY`` (or the variable named by ``key_env``) and is never
    written anywhere; a server on this machine needs none. Failures are not retried here but by the
    wrapper ``RetryingModel``, which counts and limits the attempts.

    The name selects a profile of supported fields (``models/profiles.yaml``). If the server
    refuses a field, this request and all later ones are sent without it. ``choose`` ranks by the
    server's top log-probabilities; without those, the model is asked to write one of the options
    (``Choice.picked``). Raises ``UsageError`` if the key is missing.
    """

    Settings = ServerSettings

    def __init__(self, name: str, settings: ServerSettings | None = None) -> None:
        settings = settings or ServerSettings()
        base_url = settings.base_url or os.environ.get("OPENAI_BASE_URL", "")
        base_url = unquoted(base_url)
        address = base_url or _HOSTED
        parts = address_parts(address)
        host = parts.hostname or ""
        if parts.username or parts.password:
            raise UsageError(
                f"openai:{name}: the address contains a user name or password, which would be "
                f"stored in the run folder; put the key into ${settings.key_env} instead"
            )
        if settings.tier == "flex":
            address = held_address(address)
        if base_url:
            base_url = address
        self._settings = replace(settings, base_url=base_url)
        self._model = name
        self.name: str = f"openai:{name}"
        self.address: str = address
        key = os.environ.get(settings.key_env, "")
        is_hosted = of_domain(host, "api.openai.com")
        self._profile = profile_of(name, settings.profile, is_hosted)
        self.gathered: bool = settings.tier == "batch"
        """True if calls are sent together, in batches."""
        self._server = Connection(address, key, self._settings)
        if self.gathered:
            self._server = BatchConnection(address, key, self._settings)
        if not key and not is_loopback_url(address) and HEADERS not in settings.extra:
            raise UsageError(
                f"{self.name}: set ${settings.key_env}, or the setting 'base_url' to a local server"
            )
        self._accepted_shapes: set[tuple[str, ...]] = set()
        self._shape_locks: defaultdict[tuple[str, ...], asyncio.Lock] = defaultdict(
            asyncio.Lock
        )
        self._fatal_refusal: ModelError | None = None
        self._asks_window = not self._profile.window
        self._ranks = False  # true once the server has returned log-probabilities
        self._changed: set[str] = set()  # traits, by refusals
        # As the user and the table say, also after a refusal: a conversation that began with tool
        # calls is then put into words for each request.
        self.tools: bool = self._profile.tools
        self._others: Counter[str] = Counter()  # names of other models, in replies
        self._usual_tier = 0  # replies that are not of the requested tier
        self._session = secrets.token_hex(6)
        self._cache_method = _cache_method(name, host, settings.cache)
        # Chats behind Anthropic's layer, which ignores marks
        self._uncached = False
        self._has_no_cache = of_domain(host, "api.anthropic.com")
        self.patience: float = TIER_PATIENCE if settings.tier else 600.0
        """Seconds for which a server without capacity is waited for."""
        self.lessons: list[str] = []

    @property
    def window(self) -> int:
        """Maximum tokens of prompt and answer, without those reserved for thinking.

        As the profile or the server states it, else as usual for such models.
        """
        profile = self._profile
        thinking = self._settings.thinking
        if thinking is None:
            thinking = profile.thinking
        window = profile.window or profile.usual_window
        return window - min(thinking, window // 2)

    @property
    def pictures(self) -> PictureTokens:
        return self._profile.pictures

    @property
    def warnings(self) -> Sequence[str]:
        """Problems of the server that do not stop a run, for the notices at its end."""
        lines = [f"{self.name}: {problem}" for problem in self._server.problems]
        if count := self._server.shortened_prompts:
            lines.append(
                f"{self.name}: the server counted far fewer tokens than {count} prompts have; it "
                "shortens them without an error (Ollama: raise num_ctx), or counts a part of them"
            )
        if self._others:
            named = ", ".join(repr(name) for name, _ in self._others.most_common(3))
            lines.append(
                f"{self.name}: {self._others.total():,} answers name another model, {named}; "
                "unless it is an alias, the server answers with that one"
            )
        if self._usual_tier:
            lines.append(
                f"{self.name}: {self._usual_tier:,} answers cost the full price, as the reply does "
                f"not name the tier {self._settings.tier}"
            )
        if self._uncached:
            lines.append(
                f"{self.name}: {self._server.address} has no prefix cache for this API, so chats "
                "pay for their whole history; inspect:anthropic/NAME and routers have one"
            )
        return lines

    async def prepare(self) -> None:
        """Ask the server for the window if the profile has none."""
        import aiohttp  # noqa: F401 - takes 0.2 s, which would delay the first call of all episodes

        if self._asks_window:
            size = await self._server.window(self._model)
            self._profile = replace(self._profile, window=size or self._profile.window)

    @property
    def identity(self) -> str:
        """What the answers depend on: name, address and settings, with secrets masked.

        Settings that were added later occur only if they are set, so that old runs keep
        theirs.
        """
        s = self._settings
        text_as = "completion" if s.text_as == "auto" else s.text_as
        choose = "logprobs" if s.choose == "auto" else s.choose
        extra = json.dumps(_mask_secrets(dict(s.extra)), sort_keys=True)
        line = (
            f"{self.name} at {self._server.address} "
            f"{s.dialect} {text_as} {choose} {s.omit} {extra}"
        )
        optional_settings = {"profile": s.profile, "thinking": s.thinking}
        custom_settings = {
            k: v for k, v in optional_settings.items() if v not in ("", None)
        }
        if custom_settings:
            return f"{line} {json.dumps(custom_settings, sort_keys=True)}"
        return line

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        """Ask for the samples. Raises ``ModelError``, whose ``billed`` covers all requests."""
        began = time.perf_counter()
        with self._billing() as bill:
            answer = await self._sample_all(prompt, sampling, bill)
        return replace(answer, usage=bill.usage, seconds=time.perf_counter() - began)

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        """Rank the options, or let the model pick one. Raises ``ModelError``."""
        began = time.perf_counter()
        with self._billing() as bill:
            choice = await self._rank_or_pick(prompt, check_options(options), bill)
        return replace(choice, usage=bill.usage, seconds=time.perf_counter() - began)

    def keep_in(self, file: Path) -> None:
        if isinstance(self._server, BatchConnection):
            self._server.keep_in(file)

    async def aclose(self) -> None:
        """Close the connections; the model may be used again, also in another event loop."""
        await self._server.aclose()
        self._shape_locks.clear()  # locks are bound to their event loop

    def _cache_use(self) -> CacheUse | None:
        """Return how the current episode uses the provider's prefix cache; None if it does not."""
        if self._cache_method == "marks":
            return CacheUse(marks=_least_cached(self._model))
        episode = EPISODE.get()
        is_keyed = self._cache_method == "key" and not self.gathered
        if is_keyed and episode is not None:
            return CacheUse(key=f"wayword-{self._session}-{episode.number}")
        return None

    @contextmanager
    def _billing(self) -> Iterator[_Bill]:
        """Yield the bill of a call, which is also attached to its error.

        Raises a retryable ``ModelError`` if a reply cannot be parsed.
        """
        bill = _Bill()
        try:
            yield bill
        except ModelError as error:
            error.billed = bill.usage or None
            raise
        except _UNREADABLE as error:
            line = f"{self._server.address} sent an unreadable reply: {type(error).__name__}"
            line = redacted(f"{line}: {error}")[:300]
            raise ModelError(line, retryable=True, billed=bill.usage or None) from None

    async def _sample_all(
        self, prompt: Prompt, sampling: Sampling, bill: _Bill
    ) -> Completion:
        """Ask for all samples, in several requests if the server gives one at a time.

        The missing samples are requested at the same time, with seeds that count up.
        """

        def build(profile: Profile, extra_sample: int = 0) -> Request:
            changed = sampling
            if extra_sample or not profile.samples:
                changed = replace(changed, n=1)
            if sampling.seed is not None:
                changed = replace(changed, seed=sampling.seed + extra_sample)
            cache = self._cache_use()
            return request(self._model, prompt, changed, self._settings, profile, cache)

        # One request first: only its reply shows if the server gives several samples.
        first_request, reply = await self._post(build, bill)
        choices = [(choice, first_request) for choice in answers.choices(reply)]
        missing = range(1, 1 + sampling.n - len(choices))
        posts = [self._post(partial(build, extra_sample=i), bill) for i in missing]
        # wait for all even after a failure: every request is billed
        for posted in await asyncio.gather(*posts, return_exceptions=True):
            if isinstance(posted, BaseException):
                raise posted
            sent, reply = posted
            choices += [(choice, sent) for choice in answers.choices(reply)]
        samples = [
            answers.sample(choice, asked) for choice, asked in choices[: sampling.n]
        ]
        thoughts = tuple(sample.reasoning for sample in samples)
        return Completion(
            texts=tuple(sample.text for sample in samples),
            finish=tuple(sample.finish for sample in samples),
            logprobs=answers.logprobs(choices[0][0]),
            reasoning=thoughts if any(thoughts) else (),
            unsent=first_request.unsent,
            calls=samples[0].calls,
            verbatim=samples[0].verbatim,
        )

    @property
    def _continues(self) -> bool:
        """True if raw text is sent to the completion route, which continues it unchanged."""
        as_text = self._settings.text_as
        return as_text == "completion" or (
            as_text == "auto" and self._profile.completions
        )

    async def _rank_or_pick(
        self, prompt: Prompt, options: tuple[str, ...], bill: _Bill
    ) -> Choice:
        """Rank the options if the server supports it, else let the model write one.

        It is asked again once; an answer that matches none is returned unchanged.
        """
        method = self._settings.choose
        # a chat reply does not continue raw text, so its first token cannot rank continuations
        can_rank = self._profile.logprobs > 0 and (
            not isinstance(prompt, str) or self._continues
        )
        if method == "logprobs" or (method == "auto" and can_rank):
            try:
                return await self._rank(prompt, options, bill)
            except Unranked as error:
                if method == "logprobs":
                    raise ModelError(f"{self.name}: {error}") from None
                # Learnt once for the run: no later call tries to rank.
                if not self._ranks or not isinstance(prompt, str):
                    self._learn({"logprobs": 0}, str(error).split(";")[0])
                if error.answer is not None:
                    return picked(options, error.answer, error.answer.reasoning)
        sampling = Sampling(max_tokens=max(map(len, options)) + 32, choices=options)
        if isinstance(prompt, str) and not self._continues:
            prompt = [user(prompt + _NEXT_PROMPT + describe_form(sampling))]
        answer = await self._sample_all(prompt, sampling, bill)
        reasoning = answer.reasoning
        if answer.text not in options and not isinstance(prompt, str):
            rejected_answer = Message("assistant", answer.text or "(nothing)")
            prompt = [
                *prompt,
                rejected_answer,
                user(_REPEAT_PROMPT + "\n".join(options)),
            ]
            answer = await self._sample_all(prompt, sampling, bill)
            reasoning += answer.reasoning
        return picked(options, answer, reasoning)

    async def _rank(
        self, prompt: Prompt, options: tuple[str, ...], bill: _Bill
    ) -> Choice:
        """Rank the options by the server's log-probabilities. Raises ``Unranked`` without them.

        Raw text is followed token by token to the end of each option. A chat reply
        cannot be continued, so only its first token counts.
        """
        walks = isinstance(prompt, str) and self._continues
        if isinstance(prompt, str):
            pairs = [continued(prompt, option) for option in options]
            prompt = pairs[0][0]
            endings = [ending for _, ending in pairs]
        if not walks:
            endings = [option.strip() for option in options]

        async def listed(continuation: str) -> Mapping[str, float]:
            text = prompt
            if isinstance(prompt, str):
                text = prompt + continuation
            # until the server is known to rank, its answer may be long enough to be a pick
            sampling = Sampling(
                max_tokens=1 if self._ranks else longest(options),
                logprobs=self._settings.top_logprobs,
                stop=("\n",) if walks else (),
            )
            sent, reply = await self._post(
                lambda profile: request(
                    self._model, text, sampling, self._settings, profile
                ),
                bill,
            )
            choice = answers.choices(reply)[0]
            tokens = answers.logprobs(choice)
            # Log-probabilities count only from the route that this ranking needs.
            # A server that lists the written token alone gives nothing to rank by.
            if tokens and tokens[0].alternatives and sent.chat != walks:
                self._ranks = True
                return {tokens[0].token: tokens[0].logprob, **tokens[0].alternatives}
            answer = answers.sample(choice, sent)
            pick = matched(answer.text, options)
            problem = "the server returns no log-probabilities"
            if sent.chat == walks:
                problem = "the server has no completion route for raw text"
            written = None
            if pick:
                written = Completion((pick,), reasoning=(answer.reasoning,))
            raise Unranked(problem, written)

        return Choice(options, await ranked(endings, listed, walk=walks))

    async def _post(
        self, build: Callable[[Profile], Request], bill: _Bill
    ) -> tuple[Request, Any]:
        """Send a request built from the current profile; return it and the reply.

        The first request of each shape is sent alone, so each refusal happens only
        once. Others wait for its reply, are rebuilt if it changed the profile, and are
        then sent concurrently. In batches, which take hours, all are sent at once. A
        refused request is sent again with the lesson of its refusal,
        ``_MOST_REQUESTS`` times in all.
        """
        refusals = 0
        room = 0  # tokens for the answer, by the server's count of the prompt
        while True:
            known = profile = self._profile
            if room:
                profile = replace(known, output=room)
            request = build(profile)
            try:
                if self.gathered or request.shape in self._accepted_shapes:
                    return request, await self._attempt(request, bill)
                async with self._shape_locks[request.shape]:
                    is_accepted = request.shape in self._accepted_shapes
                    if is_accepted or known is not self._profile:
                        continue
                    reply = await self._attempt(request, bill)
                    self._accepted_shapes.add(request.shape)
                    return request, reply
            except Refused as error:
                refusals += 1
                refusal = error.refusal
                # the refusal of another request may have changed the profile
                changed = known is not self._profile
                changed = self._learn_from(refusal, request) or changed
                if refusal.kind == "prompt too long":
                    left = refusal.window - refusal.prompt if refusal.prompt else 0
                    if LEAST_ROOM <= left < request.limit:
                        room = left
                        changed = True
                    elif changed:  # the window may leave room for the answer alone
                        changed = build(self._profile).limit < request.limit
                if not changed:
                    if error.fatal:
                        self._fatal_refusal = error
                    raise
                if refusals == _MOST_REQUESTS:
                    raise ModelError(str(error), billed=error.billed) from None

    async def _attempt(self, request: Request, bill: _Bill) -> Any:
        """Return the reply to a request, which is added to the bill. Raises ``ModelError``.

        After a fatal one, all later requests raise it at once.
        """
        if self._fatal_refusal is not None:
            raise ModelError(str(self._fatal_refusal), fatal=True)
        try:
            reply, used = await self._server.post(request)
        except ModelError as error:
            bill.usage += error.billed or Usage()
            if error.fatal and not (error.retryable or isinstance(error, Refused)):
                self._fatal_refusal = error
            raise
        bill.usage += used
        answers.name_limit(reply, request)
        if other := answers.other_model(reply, self._model):
            self._others[other] += 1
        if self._settings.tier and used.tier != self._settings.tier:
            self._usual_tier += 1
        if self._has_no_cache and len(request.body.get("messages", ())) > 2:
            self._uncached = True
        if self._server.shortened_prompts and self._asks_window:
            # Ollama states the window that is in force only once the model is loaded
            await self.prepare()
            self._asks_window = False
        return reply

    def _learn_from(self, refusal: ServerRefusal, request: Request) -> bool:
        """Change the profile by the lesson of a refusal; False if there is none.

        Fields that the user has set are never left out.
        """
        own = {
            *self._settings.extra,
            *(["service_tier"] if self._settings.tier == "flex" else []),
        }
        if own & {*refusal.fields}:
            return False  # the user's own fields are not left out silently
        if lesson := learn_tools(refusal, self._profile, request):
            return self._learn(*lesson, refusal)
        lesson = learn(refusal, self._profile, request.body)
        is_auto = self._settings.text_as == "auto" and not request.chat
        if lesson is None and is_auto and refusal.kind in _ABSENT_ROUTE:
            lesson = {"completions": False}, "raw text is sent as a message"
        return lesson is not None and self._learn(*lesson, refusal)

    def _learn(
        self,
        changes: Mapping[str, Any],
        words: str,
        refusal: ServerRefusal | None = None,
    ) -> bool:
        """Change the profile, and note the reason in ``lessons``.

        False if nothing changes, or would change back: a lesson is never reversed.
        """
        is_reversed = "limit" in changes and "limit" in self._changed
        changed = replace(self._profile, **changes)
        if is_reversed or changed == self._profile:
            return False
        self._profile = changed
        self._changed |= changes.keys()
        lesson = f"{self.name}: {words}"
        if refusal:
            lesson += f" (the server: {refusal.message})"
        self.lessons.append(lesson)
        return True


# Seconds for which a run waits for capacity: that of the flex tier is missing for hours at times,
# and the queue of batches is full until others have ended.
TIER_PATIENCE = 6 * 3600.0


def _cache_method(name: str, host: str, chosen: str) -> str:
    """Return how a server is asked for its prefix cache: ``key``, ``marks``, or nothing.

    ``chosen`` is the setting ``cache``; ``auto`` decides by the host and the model's
    name.
    """
    if chosen != "auto":
        return chosen.replace("off", "")
    if of_domain(host, "api.openai.com"):
        return "key"
    vendor = name.rpartition("/")[2].lower()
    takes_marks = of_domain(host, "openrouter.ai") and vendor.startswith("claude")
    takes_marks = takes_marks or (
        of_domain(host, "aliyuncs.com") and vendor.startswith("qwen")
    )
    return "marks" if takes_marks else ""


def _least_cached(name: str) -> int:
    """Return the least tokens of a prefix that the provider caches.

    Source: https://platform.claude.com/docs/en/build-with-claude/prompt-caching
    """
    for pattern, least in _LEAST_CACHED.items():
        if re.search(pattern, name.lower()):
            return least
    return 1024


_LEAST_CACHED = {
    "haiku-4|opus-4[.-][5-9]": 4096,
    "haiku-3": 2048,
}


def _mask_secrets(value: Json, secret: bool = False) -> Json:
    """Return settings with secrets masked, because the run folder contains the identity."""
    if isinstance(value, Mapping):
        masked: dict[str, Json] = {}
        for key, inner in value.items():
            if key in (HEADERS, "headers") and isinstance(inner, Mapping):
                masked[key] = {k: hidden(str(k), str(v)) for k, v in inner.items()}
            else:
                masked[key] = _mask_secrets(inner, secret or is_secret(str(key)))
        return masked
    if isinstance(value, list):
        return [_mask_secrets(item, secret) for item in value]
    if secret and isinstance(value, str):
        remember(value)
        return MASK
    return value


model = OpenAIModel
