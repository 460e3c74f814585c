"""Text utilities: digests, Base64, tokens, JSON paths, differences."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolpath.catalog import ToolError

from examples.incident.handlers.json_path import find_all
from examples.incident.handlers.text_tools import TextTools, diff_texts, encode_base64, hash_text, query_json
from examples.incident.world import World

NOW = 1763478600  # 2025-11-18T15:10:00Z


@pytest.fixture
def tools(world: World) -> TextTools:
    return TextTools(world)


def failing(call: Callable[[], object]) -> ToolError:
    with pytest.raises(ToolError) as caught:
        call()
    assert caught.value.error_type == "validation_error"
    return caught.value


def jwt(header: object, claims: object) -> str:
    parts = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in (header, claims))
    return ".".join([*parts, "signature"])


@pytest.mark.parametrize("algorithm", ["sha256", "sha512", "sha1", "md5", "blake2b"])
def test_a_digest_is_that_of_the_utf8_bytes(algorithm: str) -> None:
    answer = hash_text("订单", algorithm)
    assert answer["hex"] == hashlib.new(algorithm, "订单".encode()).hexdigest()
    assert answer["bytes_hashed"] == 6


def test_half_a_surrogate_pair_has_no_digest() -> None:
    assert "surrogate" in str(failing(lambda: hash_text("\ud800")))


@given(st.text(), st.booleans())
def test_base64_goes_there_and_back(text: str, url_safe: bool) -> None:
    encoded = encode_base64(text, url_safe=url_safe)["text"]
    assert encode_base64(encoded.rstrip("="), "decode", url_safe)["text"] == text


@pytest.mark.parametrize(
    ("text", "hint"), [("a*b", "not Base64"), ("_-_-", "URL-safe"), ("/w==", "UTF-8"), ("abcde", "not Base64")]
)
def test_what_is_not_base64_is_refused(text: str, hint: str) -> None:
    assert hint in str(failing(lambda: encode_base64(text, "decode")))


def test_a_token_shows_claims_and_expiry_but_proves_nothing(tools: TextTools) -> None:
    answer = tools.decode_jwt("Bearer " + jwt({"alg": "HS256"}, {"sub": "陈", "iat": NOW - 60, "exp": NOW}))
    assert answer["claims"]["sub"] == "陈"
    assert answer["expires_at"] == "2025-11-18T15:10:00Z"
    assert (answer["expired"], answer["signature_checked"]) == (True, False)


def test_expiry_is_judged_at_the_moment_asked_for(tools: TextTools) -> None:
    token = jwt({}, {"exp": NOW})
    assert tools.decode_jwt(token, "2025-11-18T15:09:59Z")["expired"] is False
    assert tools.decode_jwt(jwt({}, {}))["expired"] is None


@pytest.mark.parametrize(
    "token",
    [
        "",
        "a.b",
        "a.b.c.d",
        "!.!.!",
        jwt([], {}),
        jwt({}, 5),
        jwt({}, {"exp": "soon"}),
        jwt({}, {"exp": True}),
        jwt({}, {"exp": 1e300}),
    ],
)
def test_what_is_no_token_is_refused(tools: TextTools, token: str) -> None:
    assert "token" in failing(lambda: tools.decode_jwt(token)).info.fields


DOCUMENT: Any = {
    "items": [{"name": "a", "price": 1}, {"name": "b", "price": 2, "sub": {"name": "c"}}, {"name": "d"}],
    "a.b": {"c d": 7, "it's": 8},
    "n-1": None,
    "价格": 9,
}


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("$", [DOCUMENT]),
        ("$.items[0].name", ["a"]),
        ("$.items[-1].name", ["d"]),
        ("$.items[*].price", [1, 2]),
        ("$.items[0:2].name", ["a", "b"]),
        ("$.items[::2].name", ["a", "d"]),
        ("$.items[::0].name", []),
        ("$.items[9]", []),
        ("$..name", ["a", "b", "c", "d"]),
        ("$['a.b']['c d']", [7]),
        ("$[\"a.b\"]['it\\'s']", [8]),
        ("$.n-1", [None]),
        ("$.价格", [9]),
        ("$.items.name", []),
        ("$.items[0].*", ["a", 1]),
        ("$..sub.*", ["c"]),
        ("$..[0].name", ["a"]),
        ("$.nothing.at.all", []),
    ],
)
def test_a_path_selects(path: str, values: list[Any]) -> None:
    assert list(find_all(DOCUMENT, path)) == values


@pytest.mark.parametrize(
    "path", ["", "items", "$.", "$..", "$[", "$[a]", "$.items[?(@.x)]", "$items", "$" + ".a" * 60, "$ .a"]
)
def test_a_path_that_cannot_be_read_is_refused(path: str) -> None:
    assert "path" in failing(lambda: list(find_all(DOCUMENT, path))).info.fields


def test_json_text_is_read_and_matches_are_limited() -> None:
    answer = query_json('{"a": [1, 2, 3]}', "$.a[*]", limit=2)
    assert answer == {"matches": [1, 2], "count": 2, "truncated": True}
    assert query_json([1, 2], "$[*]", limit=2)["truncated"] is False


@pytest.mark.parametrize("document", ["{", "", "[" * 200_000])
def test_text_that_is_no_json_is_refused(document: str) -> None:
    assert "document" in failing(lambda: query_json(document, "$")).info.fields


def test_a_deep_document_is_walked_without_recursion() -> None:
    deep: Any = {"x": 1}
    for _ in range(5000):
        deep = [deep]
    assert list(find_all(deep, "$..x")) == [1]


def test_a_difference_counts_its_lines() -> None:
    answer = diff_texts("a\nb\n--c\n", "a\nB\n--c\n++d\n")
    assert (answer["added"], answer["removed"], answer["identical"]) == (2, 1, False)
    assert "-b" in answer["diff"].splitlines()


def test_equal_texts_have_no_difference() -> None:
    assert diff_texts("", "") == {"diff": "", "added": 0, "removed": 0, "identical": True}


def test_texts_that_are_too_long_are_refused() -> None:
    assert "6000 lines" in str(failing(lambda: diff_texts("x\n" * 6000, "")))
