"""Work that threads share, and that Ctrl-C can end."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait


def together(work: Callable[[int], None], threads: int, stop: Callable[[], None]) -> None:
    """Call ``work(0)`` to ``work(threads - 1)``, each in a thread of its own, and wait for all.

    Parameters
    ----------
    work : callable
    threads : int
    stop : callable
        Has the others end soon, when one fails or the user interrupts.
    """
    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(work, number) for number in range(threads)]
        try:
            while wait(futures, timeout=0.1).not_done:  # in turns, or Ctrl-C might not be seen before the end
                pass
            for future in futures:
                future.result()
        except BaseException:
            stop()
            raise
