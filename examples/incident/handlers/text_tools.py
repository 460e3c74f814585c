"""Utilities for text: digests, Base64, JSON paths, tokens, differences."""

from __future__ import annotations

import base64
import binascii
import difflib
import hashlib
import json
from typing import Any

from ..world import World
from .arguments import BEGINNING, END, Handler, Json, invalid, iso, moment
from .json_path import find_all

MAX_DIFF_LINES = 5000
"""Lines per side; the time of a difference grows with the square of its length."""


class TextTools:
    """Handlers that need nothing but their arguments, and the world's present for expiry."""

    def __init__(self, world: World) -> None:
        self._now = world.now

    def handlers(self) -> dict[str, Handler]:
        """Tool name to handler."""
        return {
            "hash_text": hash_text,
            "encode_base64": encode_base64,
            "query_json": query_json,
            "decode_jwt": self.decode_jwt,
            "diff_texts": diff_texts,
        }

    def decode_jwt(self, token: str, at: str | None = None) -> Json:
        """Header and claims (RFC 7519), unchecked."""
        parts = token.strip().removeprefix("Bearer ").split(".")
        if len(parts) != 3:
            raise invalid("token", f"must have three parts separated by dots, has {len(parts)}")
        header, claims = (_json_part(part) for part in parts[:2])
        when = self._now if at is None else moment(at, "at")
        expiry = _numeric_date(claims, "exp")
        return {
            "header": header,
            "claims": claims,
            "issued_at": _shown(_numeric_date(claims, "iat")),
            "expires_at": _shown(expiry),
            "expired": None if expiry is None else when.timestamp() >= expiry,
            "signature_checked": False,
        }


def hash_text(text: str, algorithm: str = "sha256") -> Json:
    """Hex digest of the text in UTF-8."""
    content = _utf8(text)
    digest = hashlib.new(algorithm, content, usedforsecurity=False)
    return {"algorithm": algorithm, "hex": digest.hexdigest(), "bytes_hashed": len(content)}


def encode_base64(text: str, direction: str = "encode", url_safe: bool = False) -> Json:
    """The text in the other form (RFC 4648); missing padding is forgiven."""
    if direction == "encode":
        encode = base64.urlsafe_b64encode if url_safe else base64.b64encode
        return {"text": encode(_utf8(text)).decode()}
    compact = "".join(text.split())
    try:
        content = base64.b64decode(_padded(compact), altchars=b"-_" if url_safe else None, validate=True)
        return {"text": content.decode()}
    except UnicodeDecodeError as error:
        raise invalid("text", "decodes to bytes that are no text in UTF-8") from error
    except ValueError as error:
        raise invalid("text", "is not Base64" + ("" if url_safe else "; is it the URL-safe alphabet?")) from error


def query_json(document: str | dict[str, Any] | list[Any], path: str, limit: int = 100) -> Json:
    """The values at a path, at most `limit`."""
    if isinstance(document, str):
        try:
            document = json.loads(document)
        except ValueError as error:
            raise invalid("document", f"is not JSON: {error}") from error
        except RecursionError as error:
            raise invalid("document", "is nested too deeply") from error
    matches: list[Any] = []
    truncated = False
    for match in find_all(document, path):
        if len(matches) == limit:
            truncated = True
            break
        matches.append(match)
    return {"matches": matches, "count": len(matches), "truncated": truncated}


def diff_texts(before: str, after: str, context_lines: int = 3) -> Json:
    """A unified difference, empty when both are the same."""
    old, new = before.splitlines(), after.splitlines()
    for argument, lines in (("before", old), ("after", new)):
        if len(lines) > MAX_DIFF_LINES:
            raise invalid(argument, f"has {len(lines)} lines; at most {MAX_DIFF_LINES} are compared")
    lines = list(difflib.unified_diff(old, new, "before", "after", lineterm="", n=context_lines))
    changes = lines[2:]  # after the two lines that name the sides
    return {
        "diff": "\n".join(lines),
        "added": sum(line.startswith("+") for line in changes),
        "removed": sum(line.startswith("-") for line in changes),
        "identical": before == after,
    }


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise invalid("text", "holds half of a surrogate pair and has no form in UTF-8") from error


def _padded(text: str) -> str:
    return text + "=" * (-len(text) % 4)


def _json_part(part: str) -> Json:
    try:
        value = json.loads(base64.b64decode(_padded(part), altchars=b"-_", validate=True))
    except (ValueError, binascii.Error, RecursionError) as error:
        raise invalid("token", "has a part that is not JSON in URL-safe Base64") from error
    if not isinstance(value, dict):
        raise invalid("token", "has a part that is not a JSON object")
    return value


def _numeric_date(claims: Json, name: str) -> float | None:
    """A claim in seconds since 1970, or None when it is absent."""
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < END.timestamp():
        raise invalid("token", f"has a claim {name!r} that is no moment")
    return float(value)


def _shown(seconds: float | None) -> str | None:
    return None if seconds is None else iso(BEGINNING.fromtimestamp(seconds, BEGINNING.tzinfo))
