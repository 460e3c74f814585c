"""Secrets and the host's paths stay out of messages."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolpath.orchestrator.runtime.redaction import MAX_MESSAGE, redact


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Authorization: Bearer abc.def.ghi failed", "Authorization: [redacted] failed"),
        ('{"Authorization": "Basic dXNlcjpwYXNz"}', '{"Authorization": "[redacted]"}'),
        ("sent bearer eyJhbGciOi.x.y again", "sent bearer [redacted] again"),
        ("api_key=abc123&limit=5", "api_key=[redacted]&limit=5"),
        ("API-KEY: abc123, next", "API-KEY: [redacted], next"),
        ('{"password": "hunter 2 is long", "user": "ann"}', '{"password": "[redacted]", "user": "ann"}'),
        ("{'client_secret': 'abc def'}", "{'client_secret': '[redacted]'}"),
        ("access_token_v2 = abc", "access_token_v2 = [redacted]"),
        ("postgres://ann:s3cret@db:5432/x", "postgres://ann:[redacted]@db:5432/x"),
        ("redis://:s3cret@cache/0", "redis://:[redacted]@cache/0"),
        ("key sk-proj-abcdefghijklmnop used", "key [redacted] used"),
        ("ghp_abcdefghijklmnop1234", "[redacted]"),
        ("github_pat_abcdefghijklmnop1234", "[redacted]"),
        ("xoxb-1234567890-abcdef", "[redacted]"),
        ("AKIAIOSFODNN7EXAMPLE", "[redacted]"),
        ("got eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "got [redacted]"),
        ("密码 password=秘密值 结束", "密码 password=[redacted] 结束"),
    ],
)
def test_secrets_are_taken_out(text: str, shown: str) -> None:
    assert redact(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("cannot open /home/ann/project/notes.md", "cannot open …/notes.md"),
        ("[Errno 2] No such file or directory: '/srv/data/x.db'", "[Errno 2] No such file or directory: '…/x.db'"),
        (r"C:\Users\Ann\secret\x.txt is gone", "…/x.txt is gone"),
        ("C:/Users/Ann/x.txt", "…/x.txt"),
        ("file:///home/ann/x.txt", "file://…/x.txt"),
        ("PATH=/usr/local/bin:/home/ann/bin", "PATH=…/bin:…/bin"),
        ("at /home/ann/", "at …/ann/"),
        ("两个 /家/用户/文件.txt", "两个 …/文件.txt"),
        ("(/var/log/app/x.log:12)", "(…/x.log:12)"),
    ],
)
def test_host_paths_are_cut_to_their_last_part(text: str, shown: str) -> None:
    assert redact(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "",
        "must stay under docs/",
        "see https://example.org/a/b/c?d=e#f",
        "GET https://example.org:8080/v1/things failed with 503",
        "expected integer of at least 1, got 0 (integer)",
        "and/or, either/or, 5/6/2026",
        "docs/guide/intro.md is missing",
        "skateboarding-competition and pkgconfiguration",
        "the secretary's password policy",
        "tokens per second",
        "步骤 'x' 失败",
        "24/7",
    ],
)
def test_harmless_text_is_left_alone(text: str) -> None:
    assert redact(text) == text


@given(st.text(max_size=3000))
def test_any_text_comes_out_short_and_stays_the_same_when_redacted_again(text: str) -> None:
    once = redact(text)
    assert len(once) <= MAX_MESSAGE
    assert redact(once) == once


PIECES = st.sampled_from(
    [
        "/",
        "\\",
        ":",
        "://",
        "a",
        "sk-",
        "token",
        "=",
        '"',
        "'",
        " ",
        "@",
        "bearer ",
        "authorization:",
        "C:",
        "…",
        ".",
        "é",
    ]
)


@given(st.lists(PIECES, max_size=60).map("".join))
def test_adverse_text_stays_the_same_when_redacted_again(text: str) -> None:
    assert redact(redact(text)) == redact(text)


SECRET = "Zq9" * 6


@given(st.text(alphabet=st.characters(exclude_categories=["L", "N"]), max_size=20))
def test_a_secret_is_found_whatever_punctuation_stands_before_it(before: str) -> None:
    for text in (f"{before} password={SECRET}", f"{before} Bearer {SECRET}", f"{before} sk-{SECRET}"):
        assert SECRET not in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "/" * 50_000,
        "/a" * 50_000,
        "a/" * 50_000,
        "/" + "a" * 50_000,
        "C:\\" * 20_000,
        "://" * 20_000,
        "://a:" * 20_000,
        "://" + "a" * 50_000,
        "token" * 20_000,
        "token " * 20_000,
        "token-_" * 20_000,
        "password" + " " * 50_000,
        "authorization " * 20_000,
        "authorization" + " " * 50_000,
        "bearer" + " " * 50_000,
        "bearer " * 20_000,
        "sk-" * 20_000,
        "sk-" + "-" * 50_000,
        "eyJ" * 20_000,
        "eyJa." * 20_000,
        "'\"" * 20_000,
        'token="' * 20_000,
        "api" * 20_000,
        "…/" * 20_000,
        "secretsecret" * 10_000,
    ],
    ids=lambda text: text[:12],
)
def test_the_worst_text_takes_no_time(text: str) -> None:
    started = time.perf_counter()
    redact(text)
    assert time.perf_counter() - started < 0.1
