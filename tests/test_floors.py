"""No file imports from a floor above its own, and importing a face loads nothing heavy."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FLOORS = ("catalog", "toolbox", "router", "orchestrator", "console")
"""Bottom to top; a folder may be missing as long as nobody has built it."""


def _imports(file: Path) -> Iterator[tuple[int, str]]:
    """(line, dotted absolute module) of every import of ours in a file, wherever in it."""
    package = ["toolpath", *file.relative_to(ROOT).parent.parts]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names if alias.name.startswith("toolpath"))
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *(node.module or "").split(".")]).strip(".")
            if module == "toolpath":
                yield from ((node.lineno, f"toolpath.{alias.name}") for alias in node.names)
            elif module.startswith("toolpath."):
                yield node.lineno, module


def _files(floor: str) -> list[Path]:
    return sorted((ROOT / floor).rglob("*.py"))


@pytest.mark.parametrize("floor", [floor for floor in FLOORS if (ROOT / floor).is_dir()])
def test_no_file_imports_from_a_floor_above(floor: str) -> None:
    files = _files(floor)
    assert files
    upward = [
        f"{file.relative_to(ROOT)}:{line} imports {module}"
        for file in files
        for line, module in _imports(file)
        if FLOORS.index(module.split(".")[1]) > FLOORS.index(floor)
    ]
    assert not upward


def test_the_orchestrator_knows_no_router_outside_its_agent() -> None:
    agent = ROOT / "orchestrator" / "agent"
    assert not [
        f"{file.relative_to(ROOT)}:{line}"
        for file in _files("orchestrator")
        if agent not in file.parents
        for line, module in _imports(file)
        if module.startswith("toolpath.router")
    ]


def test_the_check_sees_an_upward_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "catalog").mkdir()
    file = tmp_path / "catalog" / "bad.py"
    file.write_text("def late():\n    from ..router.router import Router\n    return Router\n")
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    assert list(_imports(file)) == [(2, "toolpath.router.router")]


HEAVY = ("torch", "faiss", "sentence_transformers", "pydantic_ai", "transformers")


@pytest.mark.parametrize(
    "face", ["toolpath.catalog", "toolpath.orchestrator", "toolpath.router", "toolpath.console.app"]
)
def test_importing_a_face_loads_nothing_heavy(face: str) -> None:
    code = f"import sys, {face}; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
