"""What stands along a street. A name is given once a town, so that it means one place."""

from __future__ import annotations

import random
from collections.abc import Iterator

LIGHT = "a traffic light"
"""The one thing that a town has many of."""

PLAIN = (
    "a park", "a church", "a library", "a fire station", "a playground", "a parking lot",
    "a bike rental", "a post office", "a school", "a garden", "a gas station", "a museum",
    "a bus stop", "a hospital", "a fountain", "a farmers market", "a clock tower", "a mural",
    "a basketball court", "a subway entrance",
)  # fmt: skip
OWNERS = (
    "Marlow", "Tessa's", "Blue Lantern", "Juniper", "Old Mill", "Harbor", "Golden Fig", "Sunrise",
    "Copper Kettle", "Rosa's", "Northside", "Little Owl", "Silver Spoon", "Maple", "Grand",
    "Paper Moon", "Red Door", "Finch & Co", "Iron Gate", "Sweet Basil", "Lucky Star", "Walnut",
    "City", "Bluebird",
)  # fmt: skip
TRADES = (
    "Bakery", "Books", "Pharmacy", "Coffee", "Diner", "Hardware", "Bank", "Hotel", "Laundry",
    "Flowers", "Shoes", "Pizza", "Market", "Theater", "Barber Shop", "Toys", "Deli", "Gym",
)  # fmt: skip


def town_names(rng: random.Random) -> Iterator[str]:
    """Names in a random order, none twice; 452 in all."""
    shops = [f"{owner} {trade}" for owner in OWNERS for trade in TRADES]
    rng.shuffle(shops)
    plain = list(PLAIN)
    rng.shuffle(plain)
    while shops:
        if plain and rng.random() < 0.3:
            yield plain.pop()
        else:
            yield shops.pop()
    yield from plain
