"""One dataset a file; the file's name is its registered name. See ``wayword.core.registry``."""

SHARED: tuple[str, ...] = ("drawn", "homes", "housing", "streetfiles", "thor", "townhall")
