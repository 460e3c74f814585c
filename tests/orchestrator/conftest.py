"""Every test of a loop in this folder runs on asyncio and trio, in virtual time."""

from tests.support.virtual_time import virtual_backend as anyio_backend

__all__ = ["anyio_backend"]
