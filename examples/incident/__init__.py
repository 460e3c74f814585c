"""An on-call incident in an online shop: a world of real files, databases and sockets, and tools that work in it."""
