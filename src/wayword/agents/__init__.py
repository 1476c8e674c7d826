"""One agent a file; the file's name is its registered name. See ``wayword.core.registry``."""

SHARED: tuple[str, ...] = (
    "answers",
    "discussion",
    "history",
    "landmarks_extraction",
    "prompting",
    "retelling",
    "together",
    "strategies",
)
