"""Catalogs from files, folders and modules."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from toolpath.catalog import Catalog, CatalogError, DuplicateToolError, ToolFormatError, load_catalog

A = {"name": "a", "description": "First", "parameters": {"properties": {"x": {"type": "integer"}}}}
B = {"name": "b", "input_schema": {"type": "object"}}
C = {"name": "c", "inputSchema": {"type": "object"}}


def lines(*entries: Any) -> str:
    return "".join(json.dumps(entry) + "\n" for entry in entries)


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def names(spec: Any, **options: bool) -> list[str]:
    return [tool.name for tool in load_catalog(spec, **options)]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.jsonl", lines(A, B, C)),
        ("t.jsonl", "\ufeff" + lines(A, B, C).replace("\n", "\r\n\r\n")),
        ("t.jsonl", lines(A, B, C).rstrip()),
        ("t.json", json.dumps([A, B, C])),
        ("t.JSON", "\ufeff" + json.dumps({"tools": [A, B, C]}, indent=2)),
        ("t.json", json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": [A, B, C]}})),
        ("t.yaml", "- name: a\n- name: b\n  input_schema: {type: object}\n- {name: c, inputSchema: {}}\n"),
        ("t.yml", "tools:\n  - name: a\n  - name: b\n  - name: c\n"),
    ],
)
def test_each_kind_of_file_is_read(tmp_path: Path, name: str, content: str) -> None:
    path = write(tmp_path / name, content)
    catalog = load_catalog(path)
    assert [tool.name for tool in catalog] == ["a", "b", "c"]
    assert catalog.get("a").source == str(path)
    assert catalog.left_out == ()
    assert names(str(path)) == ["a", "b", "c"]


@pytest.mark.parametrize("name", ["t.jsonl", "t.yaml"])
def test_an_empty_file_is_an_empty_catalog(tmp_path: Path, name: str) -> None:
    assert names(write(tmp_path / name, "\n")) == []


def test_line_separators_inside_json_text_do_not_split_lines(tmp_path: Path) -> None:
    entry = '{"name": "a", "description": "one\u2028two\x85three"}\n'
    assert load_catalog(write(tmp_path / "t.jsonl", entry)).get("a").description == "one\u2028two\x85three"


def test_big_integers_survive(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", '{"name": "a", "big": 123456789012345678901234567890}')
    assert load_catalog(path).get("a").metadata == {"big": 123456789012345678901234567890}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.jsonl", lines(A) + "\n{oops}\n", r"t\.jsonl, line 3: not JSON: .*column 2"),
        ("t.jsonl", lines(A, {"name": 5}), r"t\.jsonl, line 2, field 'name': must be a string"),
        ("t.jsonl", '{"name": "a", "name": "b"}', r"line 1: the key 'name' is there twice"),
        ("t.jsonl", '{"name": "a", "x": NaN}', "line 1: NaN is not a JSON number"),
        ("t.jsonl", '{"name": "a", "x": -Infinity}', "line 1: -Infinity is not a JSON number"),
        ("t.jsonl", '{"name": "a", "x": 1e999}', "line 1: the number 1e999 is too large"),
        ("t.jsonl", '{"name": "a", "x": ' + "9" * 5000 + "}", "line 1: .*digits"),
        ("t.jsonl", '{"name": "a", "x": ' + "[" * 100_000 + "]" * 100_000 + "}", "line 1: nested too deeply"),
        ("t.jsonl", '{"name": "a", "x": ' + "[" * 200 + "]" * 200 + "}", "line 1, field .*nested more than 128"),
        ("t.jsonl", '{"name": "a", "x": "\\ud800"}', "line 1, field 'x': holds an unpaired surrogate"),
        ("t.jsonl", lines(A).encode() + b'{"name": "\xff"}', r"t\.jsonl: line 2 is not UTF-8"),
        ("t.json", '[\n{"name": "a"},\n]', r"t\.json: not JSON: .*line [23], column"),
        ("t.json", '[{"name": "a"}, 5]', r"t\.json, entry 1: a tool must be an object, not integer"),
        ("t.json", "5", r"t\.json: expected a list of tools, got integer"),
        ("t.json", '{"error": {}}', r"t\.json, entry 0: no known shape .* 'error'"),
        ("t.yaml", "- name: a\n  name: b\n", r"YAML: the key 'name' is there twice in one object \(line 2\)"),
        ("t.yaml", "- !!python/object/apply:os.system ['true']\n", r"t\.yaml: not usable YAML: .*python/object"),
        ("t.yaml", "- name: a\n  1: x\n", r"t\.yaml, entry 0: the key 1 is not a string"),
        ("t.yaml", "a: [\n", r"t\.yaml: not usable YAML"),
        ("t.yaml", "- name: a\n--- \n- name: b\n", r"t\.yaml: not usable YAML: .*document"),
        ("t.yaml", "- name: a\n  x: .nan\n  y: !!float .inf\n", r"entry 0, field 'y': inf is not a JSON number"),
        ("t.yaml", "? [a]\n: b\n", r"t\.yaml: not usable YAML: a key must be plain text"),
        ("t.yaml", "x: " + "[" * 5000 + "]" * 5000, r"t\.yaml: nested too deeply"),
        ("t.yaml", "x: \x01", r"t\.yaml: not YAML"),
    ],
)  # fmt: skip
def test_a_broken_file_is_named_with_its_line_and_field(tmp_path: Path, name: str, content: Any, message: str) -> None:
    with pytest.raises(ToolFormatError, match=message):
        load_catalog(write(tmp_path / name, content))


def test_yaml_words_mean_what_they_mean_in_json(tmp_path: Path) -> None:
    text = (
        "- name: a\n  parameters: &p\n    properties: {mode: {enum: [on, off, 'yes']}}\n"
        "  since: 2025-03-31\n  at: 10:30\n  octal: 010\n  ok: true\n  n: -5\n  f: 1.5\n  none: null\n"
        "- name: b\n  parameters: *p\n- name: c\n  parameters:\n    <<: *p\n    required: [mode]\n"
    )
    catalog = load_catalog(write(tmp_path / "t.yaml", text))
    assert catalog.get("a").parameters["properties"]["mode"]["enum"] == ["on", "off", "yes"]
    assert catalog.get("a").metadata == {
        "since": "2025-03-31",
        "at": "10:30",
        "octal": "010",
        "ok": True,
        "n": -5,
        "f": 1.5,
        "none": None,
    }
    assert catalog.get("b").parameters == catalog.get("a").parameters
    assert catalog.get("c").parameters["required"] == ["mode"]


def test_yaml_that_unfolds_without_end_is_refused(tmp_path: Path) -> None:
    levels = "".join(f"  l{i}: &l{i} [*l{i - 1}, *l{i - 1}]\n" for i in range(1, 60))
    with pytest.raises(ToolFormatError, match="more than 500,000 values"):
        load_catalog(write(tmp_path / "t.yaml", f"- name: a\n  l0: &l0 [x, x]\n{levels}"))


def test_a_lenient_load_takes_the_rest_and_reports_lines_and_clashes(tmp_path: Path) -> None:
    content = (
        lines(A, {"name": 5})
        + "{oops}\n"
        + lines(B, {"name": "a", "category": "second"}, {"name": "z", "aliases": ["b"]})
    )
    path = write(tmp_path / "t.jsonl", content)
    catalog = load_catalog(path, strict=False)
    assert [tool.name for tool in catalog] == ["a", "b"]
    assert [error.index for error in catalog.left_out] == [2, 3, None, None]
    assert "'a' is taken" in str(catalog.left_out[2])
    assert "'b' is taken" in str(catalog.left_out[3])
    with pytest.raises(ToolFormatError):
        load_catalog(path)


def test_a_lenient_load_of_a_folder_reports_an_unreadable_file(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", lines(A))
    write(tmp_path / "b.json", "nonsense")
    catalog = load_catalog(tmp_path, strict=False)
    assert [tool.name for tool in catalog] == ["a"]
    assert [Path(error.source).name for error in catalog.left_out] == ["b.json"]


def test_a_name_clash_names_both_files(tmp_path: Path) -> None:
    write(tmp_path / "one.jsonl", lines(A))
    write(tmp_path / "two.json", json.dumps([A]))
    with pytest.raises(DuplicateToolError, match=r"one\.jsonl.*two\.json"):
        load_catalog(tmp_path)


def test_a_folder_is_read_in_the_order_of_names_and_other_files_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path / "b.yaml", "- name: b\n")
    write(tmp_path / "a.jsonl", lines(A))
    write(tmp_path / "README.md", "# not a tool")
    write(tmp_path / ".hidden.json", "nonsense")
    (tmp_path / "sub.json").mkdir()
    assert names(tmp_path) == ["a", "b"]


def test_a_benchmark_folder_gives_its_tools_only(tmp_path: Path) -> None:
    write(tmp_path / "tools.jsonl", lines(A))
    write(tmp_path / "queries.jsonl", '{"id": 1, "query": "x", "tools": ["a"]}\n')
    write(tmp_path / "other.json", "nonsense")
    assert names(tmp_path) == ["a"]


def test_what_does_not_exist_or_is_of_no_known_kind_says_so(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="is no file, no folder and not of the form module:attribute"):
        load_catalog(tmp_path / "missing.jsonl")
    with pytest.raises(CatalogError, match=r"of no known kind; a tool list ends in \.jsonl, \.json"):
        load_catalog(write(tmp_path / "tools.txt", ""))
    with pytest.raises(CatalogError, match="holds no file that ends in"):
        load_catalog(tmp_path)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module in the current directory that is on no path yet."""
    name = "tools_of_mine"
    write(
        tmp_path / f"{name}.py",
        "from toolpath.catalog import Catalog, Tool, tool\n"
        "catalog = Catalog([Tool(name='a')])\n"
        "listed = (Tool(name='a'), Tool(name='b'))\n"
        "def made():\n    return listed\n"
        "async def later():\n    return listed\n"
        "@tool\ndef one(x: int) -> int:\n    return x\n"
        "number = 5\nmixed = [Tool(name='a'), 'b']\ntwice = [Tool(name='a'), Tool(name='a')]\n"
        "class Holder:\n    inner = listed\n",
    )
    write(tmp_path / "broken_tools.py", "import surely_not_installed\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    monkeypatch.delitem(sys.modules, name, raising=False)
    return name


def test_a_module_gives_its_catalog_itself(module: str) -> None:
    loaded = load_catalog(f"{module}:catalog")
    assert loaded is sys.modules[module].catalog
    assert isinstance(loaded, Catalog)


@pytest.mark.parametrize(
    ("attribute", "found"),
    [("listed", ["a", "b"]), ("made", ["a", "b"]), ("one", ["one"]), ("Holder.inner", ["a", "b"])],
)
def test_a_module_gives_tools_however_it_holds_them(module: str, attribute: str, found: list[str]) -> None:
    assert names(f"{module}:{attribute}") == found


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("{}:lsited", r"there is no 'lsited' \(did you mean 'listed'\?\)"),
        ("{}:number", "gives a value of type integer; expected a Catalog"),
        ("{}:mixed", "gives a value of type string at index 1; expected a Tool"),
        ("no_such_module:x", "there is no module 'no_such_module'"),
        ("no_such.module:x", "there is no module 'no_such'"),
    ],
)
def test_a_module_that_does_not_give_tools_says_why(module: str, spec: str, message: str) -> None:
    with pytest.raises(CatalogError, match=message):
        load_catalog(spec.format(module))


def test_an_async_function_is_no_source_of_tools(module: str) -> None:
    with pytest.raises(CatalogError, match=r"is async; give a plain function"):
        load_catalog(f"{module}:later")


def test_clashes_in_a_module_are_errors_or_left_out(module: str) -> None:
    with pytest.raises(DuplicateToolError):
        load_catalog(f"{module}:twice")
    catalog = load_catalog(f"{module}:twice", strict=False)
    assert (len(catalog), len(catalog.left_out)) == (1, 1)


def test_what_a_module_fails_to_import_itself_is_told_with_its_place_and_kept_as_the_cause(module: str) -> None:
    with pytest.raises(CatalogError, match=r"surely_not_installed.*\(broken_tools\.py, line \d+\)") as caught:
        load_catalog("broken_tools:x")
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("raise ValueError('boom')", r"cannot be imported: ValueError: boom \(hostile\.py, line 1\)"),
        ("def (", r"SyntaxError: .*\(hostile\.py, line 1\)"),
        ("import sys; sys.exit(7)", r"SystemExit: 7 \(hostile\.py, line 1\)"),
        (
            "\ndef tools(): raise KeyError('no')",
            r"cannot be called for its tools: KeyError: 'no' \(hostile\.py, line 2\)",
        ),
    ],
)
def test_a_module_that_fails_is_an_error_of_the_catalog(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, says: str
) -> None:
    (tmp_path / "hostile.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "hostile", raising=False)
    with pytest.raises(CatalogError, match=says):
        load_catalog("hostile:tools")


def test_no_name_is_not_the_current_folder() -> None:
    with pytest.raises(CatalogError, match="no catalog is named"):
        load_catalog("")


def test_every_public_tool_list_loads() -> None:
    folder = os.environ.get("TOOLPATH_DATA")
    if not folder:
        pytest.skip("TOOLPATH_DATA does not name the folder with the public tool lists")
    found = sorted(Path(folder).glob("*/tools.jsonl"))
    assert found
    for path in found:
        with path.open(encoding="utf-8") as file:
            expected = [json.loads(line)["name"] for line in file if line.strip()]
        assert names(path) == expected
