"""What a thing lies in or on, and where it is moved to, by hand-made boxes."""

from __future__ import annotations

import pytest

from helpers.thor_records import (
    CHAIR,
    COUNTER,
    FLOOR,
    FURNITURE,
    TABLE,
    made,
    small,
)
from wayword.datasets.sources.thor import (
    ObjectRecord,
    find_holder,
    find_holders,
    move_record,
)


@pytest.mark.parametrize(
    ("item", "under"),
    [
        (small("Apple", 0.9, 0.3, 0.92), "CounterTop|1"),
        (small("Spoon", 0.5, 0.3, 0.7), "Drawer|1"),
        (small("Apple", 1.5, 0.3, 0.79), "SinkBasin|1"),
        (small("Apple", 3.6, 0.4, 1.2), "Fridge|1"),
        (small("Vase", 0.2, 3.2, 1.25), "Shelf|1"),
        (small("Book", 2.5, 2.7, 0.8), "DiningTable|1"),
        (small("Book", 2.5, 2.5, 0.45), "Chair|1"),
        (small("Pan", 2.8, 0.3, 0.93), "StoveBurner|1"),
        (small("Plunger", 3.0, 2.0, 0.0), None),
    ],
    ids=lambda value: value.label if isinstance(value, ObjectRecord) else str(value),
)
def test_boxes_tell_what_an_object_is_in_or_on(
    item: ObjectRecord, under: str | None
) -> None:
    found = find_holder(item, FURNITURE)
    assert (found.id if found else None) == under


def test_a_receptacle_takes_only_what_belongs_there() -> None:
    sofa_cushion = small("Pillow", 2.8, 0.3, 0.93)
    assert find_holder(sofa_cushion, FURNITURE) is None, "no pillow lies on a hob"


def test_what_floats_near_something_is_on_it_where_it_cannot_be_on_the_floor() -> None:
    bottle = small("SoapBottle", 2.1, 0.3, 1.1)
    assert find_holder(bottle, FURNITURE) is None
    found = find_holder(bottle, FURNITURE, use_nearest=True)
    assert found is not None
    assert found.id == "CounterTop|1"


def test_of_several_published_parents_the_one_that_carries_is_taken() -> None:
    texts = ("Floor|1", CHAIR.id, TABLE.id)
    book = made("Book", (2.5, 2.7, 0.82), (0.1, 0.1, 0.04), "pickupable", parents=texts)
    on_floor = made(
        "Boots", (3, 2, 0.1), (0.2, 0.2, 0.2), "pickupable", parents=("Floor|1",)
    )
    records = (FLOOR, *FURNITURE, book, on_floor)
    assert find_holders(records, [book, on_floor]) == {book.id: TABLE.id}


def test_dishes_are_never_inside_each_other() -> None:
    bowls = tuple(small("Pot", 1, 0.3, 0.92, "receptacle", number=n) for n in (1, 2))
    assert find_holders((COUNTER, *bowls), bowls) == dict.fromkeys(
        ("Pot|1", "Pot|2"), COUNTER.id
    )


def test_a_moved_box_goes_with_its_pivot_and_turns_by_quarters() -> None:
    board = made(
        "Laptop", (1.2, 0.3, 1.0), (0.4, 0.2, 0.1), "pickupable", parents=(COUNTER.id,)
    )
    off = ObjectRecord(*(board.id, board.name, board.label), (1.0, 0.3, 0.95), 0.0, board.center,
                       board.size, board.parents, board.flags)  # fmt: skip
    turned = move_record(off, (3.0, 3.0, 0.5), 90.0)
    assert turned.center == pytest.approx((3.0, 2.8, 0.55)), (
        "clockwise: east of it is now south"
    )
    assert turned.size == (0.2, 0.4, 0.1)
    assert turned.parents == ()
    assert move_record(off, (3.0, 3.0, 0.5), 30.0).size == off.size
