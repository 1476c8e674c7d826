"""One dataset a file; the file's name is its registered name. See ``wayword.core.registry``."""

SHARED: tuple[str, ...] = (
    "alfred",
    "babyai",
    "drawn",
    "homes",
    "housing",
    "searching",
    "streetfiles",
    "teach",
    "thor",
    "townhall",
    "virtualhome",
)
