"""What the pages leave out of a prompt can be filled in again, exactly."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from helpers.parsed_page import Page
from wayword.core.model import Message, Prompt
from wayword.runs.codec import plain
from wayword.viewer import figures
from wayword.viewer.episode import (
    Block,
    PromptHistory,
    Repeated,
    call_summary,
    split_lines,
)

line = st.sampled_from(["a\n", "b\n", "\n", "None\n", "x\r\n", "u\u2028v\n", "tail"])
text = st.lists(line, max_size=40).map("".join)
long = st.builds(lambda n, t: "the task is long and wordy, so it is told in full\n" * n + t,
                 st.integers(0, 12), text)  # fmt: skip
conversation = st.lists(
    st.builds(Message, st.sampled_from(["system", "user"]), long), max_size=4
)
prompts = st.lists(long | conversation.map(tuple), max_size=6)
chat = st.lists(st.builds(Message, st.just("user"), line), min_size=1, max_size=12)
dropped = st.lists(st.integers(0, 3), max_size=6)


def filled_in(calls: list[tuple[Block | Repeated, ...]], call: int, number: int) -> str:
    """A message of a prompt, as the page's script puts it together."""
    for block in calls[call]:
        if isinstance(block, Repeated):
            at = number - block.number
            if 0 <= at < block.messages:
                return filled_in(calls, block.call, block.start + at)
        elif block.number == number:
            found: list[str] = []
            for piece in block.pieces:
                if piece.kind == "folded":
                    base = split_lines(filled_in(calls, piece.call, piece.block))
                    found += base[piece.start : piece.start + piece.lines]
                else:
                    found += split_lines(piece.text)
            return "".join(found)
    raise AssertionError(f"call {call} has no message {number}")


def texts(prompt: Prompt) -> list[str]:
    if isinstance(prompt, str):
        return [prompt]
    return [message.content for message in prompt]


@given(prompts)
def test_a_prompt_is_restored_from_its_pieces(query: list[Prompt]) -> None:
    check_restored(query)


def check_restored(query: list[Prompt]) -> None:
    history = PromptHistory()
    calls = [history.add("main", plain(prompt)) for prompt in query]
    for call, prompt in enumerate(query):
        messages = texts(prompt)
        restored = [filled_in(calls, call, number) for number in range(len(messages))]
        assert restored == messages


def test_a_growing_prompt_takes_space_for_its_new_part_only() -> None:
    history = PromptHistory()
    messages = ["You stand in a hall.\n" for _ in range(20)]
    history.add("main", "".join(messages))
    for number in range(30):
        messages.append(f"Step {number}: on you go.\n")
        (block,) = history.add("main", "".join([*messages, "Now answer.\n"]))
        assert isinstance(block, Block)
        shown = sum(len(piece.text) for piece in block.pieces)
        assert shown < 80
        assert any(
            p.kind == "new" and f"Step {number}:" in p.text for p in block.pieces
        )


@given(chat, dropped)
def test_a_chat_that_leaves_out_its_oldest_messages_is_restored(
    shown: list[Message], gone: list[int]
) -> None:
    query: list[Prompt] = []
    for each in gone:
        shown = [*shown[each:], Message("user", "on\n"), Message("user", "a\n")]
        query.append((Message("system", "Act.\n"), *shown))
    check_restored(query)


def test_a_chat_takes_space_for_its_new_messages_only() -> None:
    history = PromptHistory()
    rules = Message("system", "You stand in a hall.\n" * 20)
    for steps in range(2, 60):
        gone = max(0, steps - 20)
        task = f"Find the cup. The first {gone} steps are not shown."
        turns = [Message("user", task)]
        for step in range(gone, steps):
            turns.append(Message("assistant", f"Thought {step}: on I go."))
            turns.append(Message("user", "You moved."))
        blocks = history.add("main", plain((rules, *turns)))
        shown = [block for block in blocks if isinstance(block, Block)]
        size = 0
        for block in shown:
            size += sum(len(piece.text) for piece in block.pieces)
        if steps > 2:
            assert len(blocks) <= 5
            assert size < 120


def test_prompts_of_two_actors_are_not_compared() -> None:
    history = PromptHistory()
    text = "You are one of two.\n" * 20
    history.add("main", text, "leader")
    (block,) = history.add("main", text, "follower")
    assert isinstance(block, Block)
    assert [piece.kind for piece in block.pieces] == ["new"]


def test_prompts_of_another_template_are_not_compared() -> None:
    history = PromptHistory()
    history.add("main", "Summarise this:\n" + "line\n" * 20)
    (block,) = history.add("main", "Act on this:\n" + "line\n" * 20)
    assert isinstance(block, Block)
    assert [piece.kind for piece in block.pieces] == ["new"]


def test_the_state_of_a_full_house_is_a_folded_table() -> None:
    items = {
        f"Mug|{n}": {
            "x": n / 2,
            "room": "kitchen",
            "open": n == 3,
            "dirty": False,
            "in": "",
        }
        for n in range(20)
    }
    page = Page.parse(f"<body>{figures.facts({'scene': 'A', 'objects': items})}</body>")
    (folded,) = page.all("details")
    assert folded.text.startswith("20")
    assert [head.text for head in page.all("th", scope="col")] == [
        *("name", "x", "room", "open"),
    ]
    assert len(page.all("tbody")) == 1
    assert len(page.all("tr")) == 21
    assert [cell.text for cell in page.all("td") if cell.text == "yes"] == ["yes"]


def test_a_call_names_the_settings_that_its_server_was_not_sent() -> None:
    answer = {
        "usage": {"prompt": 9, "completion": 3},
        "seconds": 1.0,
        "unsent": ["temperature", "stop", "json_schema"],
    }
    sampling = {"temperature": 0.5, "json_schema": {}, "choices": ["a", "b"]}
    assert call_summary({"answer": answer, "sampling": sampling}).endswith(
        "temperature and stop not sent · prompted with a JSON schema · "
        "constrained to a list of choices"
    )
    sent = {**answer, "unsent": []}
    assert " · temperature 0.5 · constrained to a JSON schema · " in call_summary(
        {"answer": sent, "sampling": sampling}
    )
