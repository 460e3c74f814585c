"""One canonical form of JSON-like data, and digests of it: equal content, equal text, whatever the order of keys."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def canonical_json(value: Any) -> str:
    """Compact JSON with sorted keys and unescaped Unicode.

    Raises:
        TypeError: the value holds something that JSON has no form for.
        ValueError: the value holds a number that is not finite.
    """
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def digest_of(value: Any) -> str:
    """Hex SHA-256 of the canonical JSON of `value`."""
    return digest_of_text(canonical_json(value))


def digest_of_text(text: str) -> str:
    """Hex SHA-256 of `text` in UTF-8; unpaired surrogates are kept apart from all valid text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
