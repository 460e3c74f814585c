"""Hypothesis strategies of the catalog's tests: JSON values, schemas, and tools."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

NAMES = ("a", "b", "c", "é")

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([0.5, 1.0, -2.5]), st.sampled_from(["", "x", "xy"])
)


def json_values(leaves: st.SearchStrategy[Any] = scalars) -> st.SearchStrategy[Any]:
    """Small JSON values whose keys are the names that the schemas use."""
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
        max_leaves=8,
    )


argument_objects = st.dictionaries(st.sampled_from(NAMES), json_values(), max_size=4)


def _optional(always: dict[str, st.SearchStrategy[Any]], **optional: st.SearchStrategy[Any]) -> Any:
    return st.fixed_dictionaries(always, optional=optional)


_small = st.integers(0, 3)
_names = st.lists(st.sampled_from(NAMES), unique=True, max_size=2)
_texts = st.sampled_from(["", "what it is", "说明"])

_leaf_schemas: st.SearchStrategy[Any] = st.one_of(
    _optional(
        {"type": st.just("string")}, minLength=_small, maxLength=_small, pattern=st.just("^x"), description=_texts
    ),
    _optional({"type": st.sampled_from(["integer", "number"])}, minimum=_small, exclusiveMaximum=_small),
    st.fixed_dictionaries({"type": st.lists(st.sampled_from(["string", "null", "integer"]), min_size=1, unique=True)}),
    st.fixed_dictionaries({"enum": st.lists(scalars, min_size=1, max_size=4, unique_by=repr)}),
    st.fixed_dictionaries({"const": scalars}),
    st.fixed_dictionaries({"type": st.sampled_from(["boolean", "null"])}),
    st.just({}),
)
_references = st.builds(
    lambda name, beside: {"$ref": f"#/$defs/{name}", **beside},
    st.sampled_from(["A", "B", "C"]),
    st.sampled_from([{}, {"description": "beside"}, {"maxProperties": 2}]),
)


def _object_schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return _optional(
        {"type": st.just("object"), "properties": st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)},
        required=_names,
        additionalProperties=st.booleans() | inner,
        description=_texts,
        maxProperties=_small,
    )


def _composed(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    some = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        _object_schemas(inner),
        _optional({"type": st.just("array")}, items=inner, minItems=_small, uniqueItems=st.booleans()),
        _optional({"type": st.just("array"), "prefixItems": some}, items=st.booleans()),
        _optional({"allOf": some}, description=_texts, required=_names),
        _optional({"anyOf": some}, type=st.sampled_from(["object", "string"])),
        st.fixed_dictionaries({"oneOf": some}),
        st.fixed_dictionaries({"not": inner}),
        st.fixed_dictionaries({"if": inner, "then": inner}),
        _optional(
            {"allOf": st.lists(_object_schemas(inner), min_size=1, max_size=3)}, unevaluatedProperties=st.just(False)
        ),
    )


_inner_schemas = st.recursive(_leaf_schemas | _references, _composed, max_leaves=8)

schemas: st.SearchStrategy[dict[str, Any]] = st.builds(
    lambda top, more, definitions: {**top, **more, "$defs": definitions},
    _object_schemas(_inner_schemas),
    st.one_of(
        st.just({}),
        st.fixed_dictionaries({"allOf": st.lists(_object_schemas(_inner_schemas), min_size=1, max_size=3)}),
        st.fixed_dictionaries({"anyOf": st.lists(_object_schemas(_inner_schemas), min_size=1, max_size=2)}),
    ),
    st.fixed_dictionaries({"A": _inner_schemas, "B": _inner_schemas, "C": _object_schemas(_inner_schemas)}),
)
"""Schemas of objects, valid in draft 2020-12, with definitions that may refer to each other in circles.

Wherever ``properties`` or ``items`` stand, the type stands too: filling it in is the one change of meaning.
"""

_words = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
_names_of_tools = st.text(
    st.characters(exclude_categories=("Cc", "Cf", "Cs", "Co", "Zl", "Zp", "Zs", "Cn")), min_size=1, max_size=20
)
_metadata = st.dictionaries(_words, json_values(scalars | _words | st.integers()), max_size=3)

tool_fields: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"name": _names_of_tools},
    optional={
        "description": _words,
        "parameters": st.fixed_dictionaries(
            {"properties": st.dictionaries(_words, _leaf_schemas, max_size=3)}, optional={"description": _words}
        ),
        "returns": _leaf_schemas,
        "examples": st.lists(_words, max_size=2),
        "category": _words,
        "tags": st.lists(_words, max_size=2),
        "aliases": st.lists(_names_of_tools, max_size=2),
        "server": _words,
        "permission": st.sampled_from(["safe_read", "sensitive_read", "low_risk_write", "high_risk_write"]),
        "side_effect": st.sampled_from(["none", "write", "delete", "spend", "communicate", "compute"]),
        "idempotent": st.booleans(),
        "timeout": st.floats(0.001, 1e9),
        "cache_ttl": st.floats(0, 1e9),
        "rate_limit": st.fixed_dictionaries({"calls": st.integers(1, 9), "per": st.floats(0.5, 60)}),
        "fallbacks": st.lists(_words, max_size=2),
        "depends_on": st.lists(_words, max_size=2),
        "environments": st.lists(_words, max_size=2),
        "owner": _words,
        "version": _words,
        "deprecation": st.fixed_dictionaries({}, optional={"since": st.dates(), "note": _words}),
        "source": _words,
        "trust": st.sampled_from(["trusted", "untrusted"]),
        "metadata": _metadata,
        "original": st.fixed_dictionaries({"shape": st.just("mcp"), "entry": _metadata}),
    },
)
"""Fields of a Tool, every one of them now and then."""
