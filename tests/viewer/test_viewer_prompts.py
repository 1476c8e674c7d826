"""What the pages leave out of a prompt can be filled in again, exactly."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from helpers.parsed_page import Page
from wayword.core.model import Message, Prompt
from wayword.runs.codec import plain
from wayword.viewer import figures
from wayword.viewer.episode import Block, PromptHistory, call_summary, split_lines

line = st.sampled_from(["a\n", "b\n", "\n", "None\n", "x\r\n", "u\u2028v\n", "tail"])
text = st.lists(line, max_size=40).map("".join)
long = st.builds(lambda n, t: "the task is long and wordy, so it is told in full\n" * n + t,
                 st.integers(0, 12), text)  # fmt: skip
conversation = st.lists(
    st.builds(Message, st.sampled_from(["system", "user"]), long), max_size=4
)
prompts = st.lists(long | conversation.map(tuple), max_size=6)


def filled_in(calls: list[tuple[Block, ...]], call: int, block: int) -> list[str]:
    """The lines of a block, as the page's script puts them together."""
    found: list[str] = []
    for piece in calls[call][block].pieces:
        if piece.kind == "folded":
            base = filled_in(calls, piece.call, block)
            found += base[piece.start : piece.start + piece.lines]
        else:
            found += split_lines(piece.text)
    return found


def texts(prompt: Prompt) -> list[str]:
    if isinstance(prompt, str):
        return [prompt]
    return [message.content for message in prompt]


@given(prompts)
def test_a_prompt_is_restored_from_its_pieces(query: list[Prompt]) -> None:
    history = PromptHistory()
    calls = [history.add("main", plain(prompt)) for prompt in query]
    for number, prompt in enumerate(query):
        restored = [
            "".join(filled_in(calls, number, at)) for at in range(len(calls[number]))
        ]
        assert restored == texts(prompt)


def test_a_growing_prompt_takes_space_for_its_new_part_only() -> None:
    history = PromptHistory()
    messages = ["You stand in a hall.\n" for _ in range(20)]
    history.add("main", "".join(messages))
    for number in range(30):
        messages.append(f"Step {number}: on you go.\n")
        (block,) = history.add("main", "".join([*messages, "Now answer.\n"]))
        shown = sum(len(piece.text) for piece in block.pieces)
        assert shown < 80
        assert any(
            p.kind == "new" and f"Step {number}:" in p.text for p in block.pieces
        )


def test_prompts_of_another_template_are_not_compared() -> None:
    history = PromptHistory()
    history.add("main", "Summarise this:\n" + "line\n" * 20)
    (block,) = history.add("main", "Act on this:\n" + "line\n" * 20)
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
