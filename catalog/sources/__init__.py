"""Where tools come from: lists in the shapes of others, files, folders and Python modules."""

from .enrichment import (
    EnrichedCatalog,
    Enrichment,
    append_enrichment,
    apply_enrichments,
    definition_digest,
    enrichment_file,
    read_enrichments,
    save_enrichments,
)
from .loading import load_catalog
from .reading import ToolList, WrittenTools, detect_shape, read_tools, write_tools
from .saving import save_tools

__all__ = [
    "EnrichedCatalog",
    "Enrichment",
    "ToolList",
    "WrittenTools",
    "append_enrichment",
    "apply_enrichments",
    "definition_digest",
    "detect_shape",
    "enrichment_file",
    "load_catalog",
    "read_enrichments",
    "read_tools",
    "save_enrichments",
    "save_tools",
    "write_tools",
]
