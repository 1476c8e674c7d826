"""One model backend a file; its name is the registered name. See ``wayword.core.registry``."""

SHARED: tuple[str, ...] = ()
