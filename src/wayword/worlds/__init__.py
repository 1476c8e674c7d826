"""One world a file; the file's name is its registered name. See ``wayword.core.registry``."""

SHARED: tuple[str, ...] = (
    "viewpoints",
    "housework",
    "search",
    "robots",
    "grid",
    "streetgraph",
    "streethops",
    "streetmoves",
    "streettext",
)
