import pytest

from tests.support.memory_ports import MemoryPorts


@pytest.fixture
def ports():
    """The ports of a stage, in memory."""
    return MemoryPorts()
