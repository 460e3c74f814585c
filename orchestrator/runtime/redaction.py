"""Keeps secrets and the host's paths out of messages that a model or a report will show."""

from __future__ import annotations

import re

_NAMED = r"(?:authorization|api[_-]?key|secret|passwd|password|token|credential)[\w-]{0,20}[\"']?\s{0,3}[:=]\s{0,3}"
_SECRETS = (
    re.compile(rf"(?i)({_NAMED}\")[^\"\n]+"),
    re.compile(rf"(?i)({_NAMED}')[^'\n]+"),
    re.compile(rf"(?i)({_NAMED})(?:(?:bearer|basic|token)\s+)?[^\s,;&\"']+"),
    re.compile(r"(?i)\b((?:bearer|basic)\s{1,3})[A-Za-z0-9._~+/=-]{8,}"),
    re.compile(r"(://[^/\s:@]{0,100}:)[^/\s@]+(?=@)"),
    re.compile(r"()\b(?:sk|pk|rk|ghp|gho|ghu|ghs|github_pat|xox[abprs])[-_][A-Za-z0-9_-]{12,}"),
    re.compile(r"()\bAKIA[A-Z0-9]{12,}"),
    re.compile(r"()\beyJ[\w-]{5,}\.[\w-]+(?:\.[\w-]*)?"),
)
"""What marks a secret: a name before it, a scheme, a place in a URL, or a form that providers use (OpenAI, Stripe,
GitHub, Slack, AWS, and JSON Web Tokens)."""

_HOST_PATHS = re.compile(
    r"(?:(?<![\w/.…])|(?<=file://)|(?<=file:///))(?:[A-Za-z]:[\\/]|/)(?:[\w.@+-]+[\\/])+([\w.@+-]+)"
)
MAX_MESSAGE = 600
"""Characters of an error message that are kept."""


def redact(text: str) -> str:
    """`text` without credentials, absolute host paths cut to their last part, at most `MAX_MESSAGE` characters.

    Example:
        >>> redact("cannot open /home/ann/project/notes.md with token=abc123")
        'cannot open …/notes.md with token=[redacted]'
    """
    text = text[: 4 * MAX_MESSAGE]
    for pattern in _SECRETS:
        text = pattern.sub(r"\1[redacted]", text)
    text = _HOST_PATHS.sub(r"…/\1", text)
    return text if len(text) <= MAX_MESSAGE else text[: MAX_MESSAGE - 1] + "…"
