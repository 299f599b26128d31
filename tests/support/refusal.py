"""The form of all errors of bad input."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from optree.errors import OptreeError


@contextmanager
def refused(*words):
    """Check that the block raises an OptreeError of one line that contains these words."""
    with pytest.raises(OptreeError) as caught:
        yield caught
    message = str(caught.value)
    assert "\n" not in message
    assert [word for word in words if word not in message] == [], message
