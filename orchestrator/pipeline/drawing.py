"""Pipelines and runs as Mermaid text, which many editors and code hosts draw by themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

_COLOURS = {
    "succeeded": "fill:#d8f0dc,stroke:#2e7d32,color:#1b1b1b",
    "degraded": "fill:#fff3cd,stroke:#b58105,color:#1b1b1b",
    "failed": "fill:#f9d6d5,stroke:#b3261e,color:#1b1b1b",
    "timed_out": "fill:#f9d6d5,stroke:#b3261e,color:#1b1b1b,stroke-dasharray:4 3",
    "skipped": "fill:#eeeeee,stroke:#8a8a8a,color:#555555,stroke-dasharray:4 3",
    "cancelled": "fill:#eeeeee,stroke:#8a8a8a,color:#555555",
}

_CODES = str.maketrans(
    {"#": "#35;", "&": "#amp;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "`": "#96;", "%": "#37;"}
)  # Mermaid's entity codes; %% would begin a comment or a directive


def mermaid(
    names: Iterable[str],
    edges: Iterable[tuple[str, str]],
    states: Mapping[str, tuple[str, bool, float]] | None = None,
) -> str:
    """A top-down flow chart.

    Args:
        names: of the steps.
        edges: (dependency, dependant) pairs.
        states: step name to (outcome, degraded, seconds), for a run.
    """
    identifiers = {name: f"s{number}" for number, name in enumerate(names)}
    lines = ["flowchart TD"]
    used: set[str] = set()
    for name, identifier in identifiers.items():
        label, css = _escape(name), ""
        if states is not None:
            outcome, degraded, seconds = states[name]
            style = "degraded" if degraded and outcome == "succeeded" else outcome
            used.add(style)
            label += f"<br/>{style} {seconds:.2f} s" if seconds else f"<br/>{style}"
            css = f":::{style}"
        lines.append(f'    {identifier}["{label}"]{css}')
    lines += [f"    {identifiers[dep]} --> {identifiers[step]}" for dep, step in edges]
    lines += [f"    classDef {style} {_COLOURS[style]}" for style in _COLOURS if style in used]
    return "\n".join(lines)


def _escape(text: str) -> str:
    """Text that cannot end a Mermaid label or start markup in it."""
    return " ".join(text.translate(_CODES).split())
