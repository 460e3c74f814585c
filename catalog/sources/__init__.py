"""Where tools come from: lists in the shapes of others, files, folders and Python modules."""

from .loading import load_catalog
from .reading import ToolList, WrittenTools, detect_shape, read_tools, write_tools
from .saving import save_tools

__all__ = ["ToolList", "WrittenTools", "detect_shape", "load_catalog", "read_tools", "save_tools", "write_tools"]
