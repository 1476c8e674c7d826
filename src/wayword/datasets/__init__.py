"""One dataset a file; the file's name is its registered name. See ``wayword.core.registry``."""

SHARED: tuple[str, ...] = ("housing", "streetfiles", "townhall")
