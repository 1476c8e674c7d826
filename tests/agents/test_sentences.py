"""What scripted actors say to each other, to the letter, and that it is read back."""

from __future__ import annotations

import pytest

from wayword.agents.team.messages import (
    AllDone,
    Command,
    Done,
    FetchClaim,
    GivingUp,
    Location,
    MoveAside,
    PartnerSentence,
    Placed,
    Searched,
    SentenceForm,
    Trouble,
    WhereAnswer,
    WhereQuestion,
    parse,
    parse_all,
)

ORDERS = {
    "Please take mug_1.": Command("take", "mug_1"),
    "Please open fridge_1 in the living room.": Command(
        "open", "fridge_1", room="living room"
    ),
    "Please switch on lamp_2 from table_1.": Command("switch on", "lamp_2", "table_1"),
    "Please bring mug_1 from cabinet_2 in the kitchen to sink_1 in the bathroom.": Command(
        "bring", "mug_1", "cabinet_2", "kitchen", "sink_1", "bathroom"
    ),
    "Please bring mug_1 to sink_1.": Command("bring", "mug_1", to="sink_1"),
    "Where is mug_1?": WhereQuestion("mug_1"),
    "mug_1 is.": WhereAnswer("mug_1"),
    "mug_1 is at cabinet_2 in the kitchen.": WhereAnswer(
        "mug_1", "cabinet_2", "kitchen"
    ),
    "I cannot: the way is blocked. Twice.": Trouble("the way is blocked. Twice"),
    "Done.": Done(),
    "That was all, thank you. You may stop.": AllDone(),
}
SAYINGS: dict[str, PartnerSentence] = {
    "I see plate_1.": Location("plate_1"),
    "I see plate_1 in the kitchen.": Location("plate_1", room="kitchen"),
    "I see plate_1 on shelf_2 in the kitchen.": Location(
        "plate_1", "on", "shelf_2", "kitchen"
    ),
    "I take plate_1.": FetchClaim("plate_1"),
    "I take plate_1 to table_1.": FetchClaim("plate_1", "table_1"),
    "I have put plate_1 in box_1.": Placed("plate_1", "in", "box_1"),
    "I cannot get plate_1.": GivingUp("plate_1"),
    "I have looked through the living room.": Searched("living room"),
    "Please make way.": MoveAside(),
}


@pytest.mark.parametrize("sentence", ORDERS)
def test_commands_are_stated_and_read_to_the_letter(sentence: str) -> None:
    assert str(ORDERS[sentence]) == sentence
    assert parse(f" {sentence} ") == ORDERS[sentence]


@pytest.mark.parametrize(
    "other",
    ["", ".", "Please eat mug_1.", "Please take mug_1", "Please take mug_1?", "Where is mug_1.",
     "Please take the mug.", "Please take mug_1 in the a.b.", "I cannot: .", "done."],
)  # fmt: skip
def test_what_is_not_quite_a_command_is_none(other: str) -> None:
    assert parse(other) is None


def test_partners_messages_are_stated_and_read_sentence_by_sentence() -> None:
    message = " ".join(SAYINGS)
    assert " ".join(map(str, SAYINGS.values())) == message
    assert parse_all(message) == tuple(SAYINGS.values())
    mixed = (
        "Hello there! I see a plate. I take plate_1! Is mug_1 yours? Please make way"
    )
    assert parse_all(mixed) == (FetchClaim("plate_1"), MoveAside())


def test_optional_parts_are_left_out_from_the_inside() -> None:
    form = SentenceForm("go[ to {place}[ in the {room:[a-z ]+}]]")
    assert form.fields == ("place", "room")
    for messages, place, room in (
        ("go", "", ""),
        ("go", "", "hall"),
        ("go to box_1", "box_1", ""),
        ("go to box_1 in the hall", "box_1", "hall"),
    ):
        assert form.render({"place": place, "room": room}) == messages
    assert form.read("go to box_1 in the hall") == {"place": "box_1", "room": "hall"}
    assert form.read("go in the hall") is None
