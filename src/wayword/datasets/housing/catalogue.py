"""What furniture stands in which room, and what it may look like.

No kind ends in another kind's words ("table lamp" would be fine, "coffee table" beside "table"
would not), so that "the table" can never be two things.
"""

from __future__ import annotations

WOOD = ("oak", "white", "black", "pine", "walnut", "grey")
CLOTH = ("blue", "red", "green", "grey", "yellow", "brown", "white", "striped", "orange")
METAL = ("steel", "white", "black", "red", "silver")
STONE = ("white", "grey", "marble", "black", "green")
CLAY = ("blue", "green", "white", "yellow", "terracotta", "black")
SIZE = ("tall", "small", "round", "large", "narrow")

LOOKS: dict[str, tuple[str, ...]] = {
    "sofa": CLOTH, "armchair": CLOTH, "piano": ("black", "white", "walnut"),
    "bookcase": WOOD, "television": ("large", "small", "flat"), "fireplace": STONE,
    "coffee table": ("glass", *WOOD), "floor lamp": METAL,
    "potted palm": ("tall", "small", "leafy"),
    "rocking chair": WOOD, "fish tank": SIZE, "record player": ("black", "red", "old"),
    "fridge": METAL, "stove": METAL, "sink": STONE, "dishwasher": METAL,
    "counter": STONE, "microwave": METAL, "bar stool": CLOTH, "spice rack": WOOD,
    "dining table": ("round", "long", *WOOD), "sideboard": WOOD, "china cabinet": WOOD,
    "high chair": CLOTH, "wine rack": WOOD, "grandfather clock": WOOD,
    "double bed": CLOTH, "single bed": CLOTH, "bunk bed": WOOD, "wardrobe": WOOD,
    "dresser": WOOD, "nightstand": WOOD, "vanity": WOOD, "cot": WOOD, "beanbag": CLOTH,
    "toilet": ("white", "grey", "cream"), "bathtub": STONE, "shower": ("glass", "tiled", "narrow"),
    "washbasin": STONE, "towel rail": METAL, "laundry basket": ("wicker", "white", "blue"),
    "mirror": ("tall", "round", "oval", "gilt", "large"), "bench": WOOD,
    "coat rack": WOOD, "shoe cabinet": WOOD, "umbrella stand": ("brass", *CLAY),
    "vase": CLAY, "painting": ("seascape", "portrait", "abstract", "landscape", "floral"),
    "wall clock": ("round", "square", "wooden"), "console": WOOD, "statue": ("bronze", *STONE),
    "desk": WOOD, "swivel chair": CLOTH, "filing cabinet": METAL, "printer": ("white", "black"),
    "whiteboard": SIZE, "globe": ("old", "large", "glowing"), "washing machine": METAL,
    "tumble dryer": METAL, "ironing board": CLOTH, "drying rack": METAL, "boiler": METAL,
    "car": ("red", "blue", "silver", "black"), "bicycle": ("red", "green", "yellow"),
    "workbench": WOOD, "toolbox": ("red", "green", "grey"), "ladder": ("steel", "wooden"),
    "lawnmower": ("red", "green", "orange"), "treadmill": METAL, "exercise bike": METAL,
    "weight rack": METAL, "yoga mat": CLOTH, "guitar": ("acoustic", "red", "black"),
    "drum kit": ("red", "black", "silver"), "cello": ("old", "brown"), "music stand": METAL,
    "toy chest": WOOD, "dollhouse": ("pink", "white", "wooden"), "play tent": CLOTH,
    "easel": WOOD, "flour bin": METAL, "freezer": METAL, "crate": ("wooden", "plastic"),
    "front door": ("red", "green", "blue", "oak", "white"),
}  # fmt: skip
"""Kind -> adjectives. A name is "adjective kind" and is used once in a house."""

FURNITURE: dict[str, tuple[str, ...]] = {
    "hallway": (
        "front door", "mirror", "coat rack", "bench", "painting", "vase", "console", "shoe cabinet",
        "umbrella stand", "statue", "painting", "wall clock", "mirror", "vase", "painting",
    ),
    "living room": (
        "sofa", "television", "fireplace", "armchair", "piano", "coffee table", "bookcase",
        "floor lamp", "potted palm", "rocking chair", "fish tank", "painting", "armchair",
    ),
    "kitchen": (
        "fridge", "stove", "sink", "counter", "dishwasher", "microwave", "bar stool", "spice rack",
        "wall clock",
    ),
    "dining room": (
        "dining table", "sideboard", "china cabinet", "wine rack", "grandfather clock",
        "high chair", "painting", "vase",
    ),
    "main bedroom": (
        "double bed", "wardrobe", "dresser", "nightstand", "vanity", "armchair", "mirror",
        "floor lamp",
    ),
    "guest bedroom": (
        "double bed", "wardrobe", "nightstand", "desk", "painting", "floor lamp", "bench",
    ),
    "small bedroom": ("single bed", "wardrobe", "desk", "beanbag", "toy chest", "cot"),
    "bathroom": (
        "toilet", "bathtub", "washbasin", "towel rail", "laundry basket", "mirror", "shower",
    ),
    "shower room": ("shower", "toilet", "washbasin", "towel rail", "mirror"),
    "office": (
        "desk", "swivel chair", "filing cabinet", "bookcase", "printer", "whiteboard", "globe",
    ),
    "library": (
        "bookcase", "armchair", "globe", "bookcase", "desk", "floor lamp", "bookcase", "statue",
    ),
    "music room": (
        "piano", "drum kit", "guitar", "cello", "music stand", "record player", "armchair",
    ),
    "playroom": ("toy chest", "dollhouse", "play tent", "easel", "beanbag", "beanbag"),
    "gym": ("treadmill", "exercise bike", "weight rack", "yoga mat", "mirror", "bench"),
    "laundry room": (
        "washing machine", "tumble dryer", "ironing board", "drying rack", "laundry basket",
        "boiler",
    ),
    "pantry": ("freezer", "flour bin", "crate", "wine rack", "crate"),
    "garage": (
        "car", "workbench", "bicycle", "toolbox", "ladder", "lawnmower", "freezer", "bicycle",
    ),
}  # fmt: skip
"""Room -> what stands there, the most telling first; a small room takes the first few."""
