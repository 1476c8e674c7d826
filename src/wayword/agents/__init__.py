"""One agent a file; the file's name is its registered name. See ``wayword.core.registry``."""

SHARED: tuple[str, ...] = (
    "answers",
    "describing",
    "discussion",
    "exploring",
    "history",
    "landmarks_extraction",
    "person",
    "prompting",
    "retelling",
    "teaming",
    "together",
    "typed",
    "strategies",
    "walkmap",
)
