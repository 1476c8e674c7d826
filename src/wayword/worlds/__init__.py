"""One world a file; the file's name is its registered name. See ``wayword.core.registry``."""

SHARED: tuple[str, ...] = (
    "viewpoints",
    "housework",
    "search",
    "grid",
    "streetgraph",
    "streethops",
    "streetmoves",
    "streettext",
)
