"""Fixtures that every test may use."""

import pytest


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Each test of a loop runs on both of anyio's backends."""
    return str(request.param)
