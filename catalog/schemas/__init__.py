"""JSON Schemas of tools: one normal form, whatever the source wrote, and a walk over the parameters in it."""

from .keywords import Schema
from .normalise import check_schema, compile_schema, normalise_parameters
from .parameters import Parameter, walk_parameters

__all__ = ["Parameter", "Schema", "check_schema", "compile_schema", "normalise_parameters", "walk_parameters"]
