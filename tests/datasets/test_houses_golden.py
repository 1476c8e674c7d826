"""One house's text, word for word: it changes only when somebody means it to."""

from __future__ import annotations

from wayword.datasets.houses import Houses

HOUSES = Houses("test", None, Houses.Settings(houses=1, episodes=3))

INSTRUCTIONS = [
    (
        "Bear right, pass the shoe cabinet and go over to the pine bench. Go over to the gilt "
        "mirror, then go through the doorway to the living room. Bear right and wait by the piano."
    ),
    (
        "Bear right and walk to the pine bench. Walk to the gilt mirror. Follow the hallway as far "
        "as the doorway to the living room. Then bear right and stop next to the white piano."
    ),
    (
        "Beginning in the hallway: Bear right, pass the pine shoe cabinet and head for the pine "
        "bench. After that, go over to the gilt mirror. Next, go straight ahead and go down the "
        "hallway and through the door into the living room. After that, turn slightly right and "
        "walk to the white piano and stop there."
    ),
]
SUMMARY = (
    "You are in the hallway, near a blue vase and an oak console, with doorways to the guest "
    "bedroom, the kitchen and the bathroom."
)
CAPTIONS = [
    (
        "A floral painting, a grey coat rack and a pine bench, and doorways to the bathroom, the "
        "playroom, the small bedroom, the main bedroom and the living room. A white beanbag can be "
        "seen in the playroom."
    ),
    "A doorway to the kitchen. Further off you can make out a walnut spice rack in the kitchen.",
    "A blank hallway wall.",
    "You see an oak console.",
    "There is a blue vase.",
    "A doorway to the guest bedroom stands open.",
    "Only the wall of the hallway. A white wardrobe can be seen in the guest bedroom.",
    "A pine shoe cabinet in the hallway.",
]


def test_the_first_house_reads_as_it_always_did() -> None:
    first = HOUSES.tasks[0]
    assert [task.episode.id for task in HOUSES.tasks] == [
        f"test-s0-r9-0000_0_{i}" for i in range(3)
    ]
    assert dict(first.episode.start) == {"viewpoint": "89be07", "heading": 330.0}
    assert [task.episode.instruction for task in HOUSES.tasks] == INSTRUCTIONS
    path = ("89be07", "218a2d", "05d6a4", "cd151e", "f370fd", "66d426")
    assert HOUSES.route(first.episode.scene, 0).path == path
    percept = HOUSES.perceiver().perceive(first.episode.scene, "89be07")
    assert percept.summary == SUMMARY
    assert [sector.caption for sector in percept.sectors] == CAPTIONS
