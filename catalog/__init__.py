"""What a tool is and where tools come from."""

from .calls import ArgumentOrigin, Degraded, ToolCall, ToolResult, new_call_id
from .catalog import Catalog, CatalogChange
from .errors import ERROR_TABLE, CatalogError, ErrorCategory, ErrorInfo, RetryAdvice, ToolError, ToolpathError
from .tool import Deprecation, Permission, RateLimit, SideEffect, Tool, Trust

__all__ = [
    "ERROR_TABLE",
    "ArgumentOrigin",
    "Catalog",
    "CatalogChange",
    "CatalogError",
    "Degraded",
    "Deprecation",
    "ErrorCategory",
    "ErrorInfo",
    "Permission",
    "RateLimit",
    "RetryAdvice",
    "SideEffect",
    "Tool",
    "ToolCall",
    "ToolError",
    "ToolResult",
    "ToolpathError",
    "Trust",
    "new_call_id",
]
