"""The timeline that most tests of the kernel are given."""

import pytest

from timeful.core.instruments import EventLog
from timeful.core.kernel import Kernel


@pytest.fixture
def kernel():
    with Kernel(log=EventLog()) as kernel:
        yield kernel
