"""What a tool is and where tools come from."""

from .arguments import validate_arguments
from .calls import ArgumentOrigin, Degraded, ToolCall, ToolResult, new_call_id
from .catalog import Catalog, CatalogChange
from .errors import (
    ERROR_TABLE,
    CatalogError,
    DuplicateToolError,
    ErrorCategory,
    ErrorInfo,
    RetryAdvice,
    SchemaError,
    SignatureError,
    ToolError,
    ToolFormatError,
    ToolpathError,
    UnknownToolError,
)
from .functions import tool
from .schemas import Parameter, walk_parameters
from .sources import ToolList, WrittenTools, detect_shape, load_catalog, read_tools, save_tools, write_tools
from .tool import Deprecation, Permission, RateLimit, SideEffect, Tool, Trust

__all__ = [
    "ERROR_TABLE",
    "ArgumentOrigin",
    "Catalog",
    "CatalogChange",
    "CatalogError",
    "Degraded",
    "Deprecation",
    "DuplicateToolError",
    "ErrorCategory",
    "ErrorInfo",
    "Parameter",
    "Permission",
    "RateLimit",
    "RetryAdvice",
    "SchemaError",
    "SideEffect",
    "SignatureError",
    "Tool",
    "ToolCall",
    "ToolError",
    "ToolFormatError",
    "ToolList",
    "ToolResult",
    "ToolpathError",
    "Trust",
    "UnknownToolError",
    "WrittenTools",
    "detect_shape",
    "load_catalog",
    "new_call_id",
    "read_tools",
    "save_tools",
    "tool",
    "validate_arguments",
    "walk_parameters",
    "write_tools",
]
