"""Work that threads share, and that Ctrl-C can end."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait


def together(work: Callable[[int], None], threads: int, stop: Callable[[], None]) -> None:
    """Call ``work(0)`` to ``work(threads - 1)`` in threads; on failure or Ctrl-C ``stop()`` has them end."""
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
