"""Fixtures that every test may use."""

import pytest
from hypothesis import settings

settings.register_profile("toolpath", deadline=None)  # a busy machine is no failure
settings.load_profile("toolpath")


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Each test of a loop runs on both of anyio's backends."""
    return str(request.param)
