"""Numbers that all searches share: return codes of kernels, a cost above every cost, "no limit"."""

from __future__ import annotations

import numpy as np

# Return codes of kernels. COMPLETE: nothing is left to search. PAUSED: the iterations of the slice are used up. The
# others ask the driver for something before the kernel can go on: NO_ROOM for larger tables, NO_DEPTH for a deeper node
# stack, ASKS for a step that Python does.
COMPLETE, PAUSED, NO_ROOM, NO_DEPTH, ASKS = range(5)

INFINITE = np.int64(2**62)  # above every cost (2**61 at most); the sum of INFINITE, a cost and a penalty fits an int64

# Two values say that levels or splits have no limit. NO_LIMIT adds no bits to the key of a memo (``memo.limits_of``).
# UNLIMITED is more than any tree has, for the search that takes the minimum of several limits in its kernel.
NO_LIMIT, UNLIMITED = -1, 2**30
