"""Every test of a loop in this folder runs on asyncio and trio, in virtual time, and with fresh breakers and limits."""

import pytest
from toolpath.orchestrator.runtime.states import TOOL_STATES

from tests.support.virtual_time import virtual_backend as anyio_backend

__all__ = ["anyio_backend"]


@pytest.fixture(autouse=True)
def _fresh_tool_states() -> None:
    TOOL_STATES.reset()
