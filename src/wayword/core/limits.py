"""Limits of the operating system on a process, as schedulers and shared machines set them.

Native libraries end a process that runs into them without a message, or wait forever. The limits
are therefore checked before such a library is loaded.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress

from wayword.core.errors import UsageError

MIB = 2**20  # bytes
LEAST_MEMORY = 400 * MIB
"""Address space of a run: with NumPy, SQLite and compression, Python maps 190 MiB on Linux, and
each thread of a linear algebra library up to 32 MiB more."""
LEAST_STACK = 512 * 1024
"""Stack of the main thread: below 160 KiB, a nested JSON text ends the process before Python's own
limit of the depth is reached. Python's own start may end a process below 96 KiB."""
FEW_PROCESSES = 256  # with fewer, one thread per core of each library may be too many


def check_limits() -> None:
    """Raise ``UsageError`` if the limit of virtual memory, or of the stack, is too low for any run.

    Where memory or processes are limited, linear algebra gets one thread, unless the environment
    sets a number.
    """
    memory = _limit("RLIMIT_AS")
    processes = _limit("RLIMIT_NPROC")
    stack = _limit("RLIMIT_STACK")
    if stack is not None and stack < LEAST_STACK:
        raise UsageError(
            f"the limit of the stack is {stack // 1024} KiB, and a run needs "
            f"{LEAST_STACK // 1024} KiB; raise it (ulimit -s {LEAST_STACK // 1024})"
        )
    if memory is not None and memory < LEAST_MEMORY:
        raise UsageError(
            f"the limit of virtual memory is {memory // MIB} MiB, and a run needs "
            f"{LEAST_MEMORY // MIB} MiB; raise it (ulimit -v {LEAST_MEMORY // 1024})"
        )
    # Each thread of linear algebra maps memory and counts as a process.
    is_low = processes is not None and processes < FEW_PROCESSES
    if memory is not None or is_low:
        for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
            os.environ.setdefault(name, "1")


def check_room(name: str, size: int, threads: int) -> None:
    """Raise ``UsageError`` if a library cannot map ``size`` bytes more, or start that many threads.
    ``name`` is what needs them."""
    memory = _limit("RLIMIT_AS")
    if memory is not None and memory - _mapped() < size:
        needed = (size + _mapped()) // 1024
        raise UsageError(
            f"{name} needs {size // MIB} MiB, and the limit of virtual memory leaves "
            f"{max(0, memory - _mapped()) // MIB}; raise it (ulimit -v {needed})"
        )
    # Only starting threads shows how many are left: other processes count, too.
    # All of them live until the end, as those of the library will.
    end = threading.Event()
    started: list[threading.Thread] = []
    try:
        for _ in range(threads if _limit("RLIMIT_NPROC") is not None else 0):
            thread = threading.Thread(target=end.wait, daemon=True)
            thread.start()
            started.append(thread)
    except RuntimeError:
        problem = (
            f"{name} needs {threads} threads, and only {len(started)} can be started"
        )
        raise UsageError(
            f"{problem}; raise the limit of processes (ulimit -u)"
        ) from None
    finally:
        end.set()
        for thread in started:
            thread.join()


def _limit(name: str) -> int | None:
    """Return a limit of this process, None without one."""
    with suppress(ImportError):  # Windows has none
        import resource

        limit, _ = resource.getrlimit(getattr(resource, name))
        return None if limit == resource.RLIM_INFINITY else limit
    return None


def _mapped() -> int:
    """Return the bytes of address space in use, 0 if the system does not state them."""
    with suppress(OSError), open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return 0
