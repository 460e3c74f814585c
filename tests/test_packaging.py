"""The wheel holds every package there is, and nothing else."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
SHIPPED = ("catalog", "toolbox", "router", "orchestrator", "console")


def test_every_package_is_listed_for_the_wheel() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    listed = settings["tool"]["setuptools"]["packages"]
    there = {
        ".".join(["toolpath", *file.parent.relative_to(ROOT).parts])
        for folder in SHIPPED
        for file in (ROOT / folder).rglob("*.py")
    }
    assert sorted(listed) == sorted(there)


def test_every_folder_with_code_is_a_package() -> None:
    folders = {file.parent for folder in SHIPPED for file in (ROOT / folder).rglob("*.py")}
    assert not [str(folder.relative_to(ROOT)) for folder in folders if not (folder / "__init__.py").is_file()]


def test_each_face_says_that_it_is_typed() -> None:
    assert not [folder for folder in SHIPPED if (ROOT / folder).is_dir() and not (ROOT / folder / "py.typed").is_file()]


def test_every_dependency_has_a_tested_version() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [
        *settings["dependencies"],
        *(one for extra in settings["optional-dependencies"].values() for one in extra),
    ]
    names = {_name(requirement) for requirement in wanted} - {"toolpath"}
    pinned = {
        _name(line)
        for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
    }
    assert names <= pinned


def _name(requirement: str) -> str:
    """The normalised name (PEP 503) that a requirement starts with."""
    end = next((i for i, char in enumerate(requirement) if not (char.isalnum() or char in "-_.")), len(requirement))
    return requirement[:end].lower().replace("_", "-").replace(".", "-")
