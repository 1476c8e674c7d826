"""One model backend a file; its name is the registered name. See ``wayword.core.registry``."""

SHARED: tuple[str, ...] = (
    "compatible",
    "constraints",
    "continuing",
    "fetch",
    "folders",
    "keys",
    "llamacpp",
    "opening",
    "serving",
    "weights",
    "wrapping",
)
