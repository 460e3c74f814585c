"""`toolpath route` and `toolpath index` find tools and keep what they embedded."""

from pathlib import Path

import pytest

from .conftest import Toolpath


def test_a_request_is_routed_and_explained(toolpath: Toolpath, catalog_file: str) -> None:
    done = toolpath("route", catalog_file, "send an e-mail to ann@example.com", "--embedder", "hash")
    assert done.code == 0
    assert "mail.send" in done.out
    assert "1 intent" in done.out


def test_json_is_one_object(toolpath: Toolpath, catalog_file: str) -> None:
    decision = toolpath(
        "route", catalog_file, "find flights between two cities", "--embedder", "hash", "-k", "2", "--json"
    ).json
    assert decision["ranking"][0] == "flights.search"
    assert len(decision["candidates"]) == 2


def test_an_index_is_built_once_and_kept(toolpath: Toolpath, catalog_file: str, tmp_path: Path) -> None:
    folder = str(tmp_path / "index")
    first = toolpath("index", catalog_file, "-o", folder, "--embedder", "hash", "--json").json
    second = toolpath("index", catalog_file, "-o", folder, "--embedder", "hash", "--json").json
    assert (first["embedded"], second["embedded"]) == (3, 0)
    assert first["tools"] == 3


def test_only_a_changed_tool_is_embedded_again(toolpath: Toolpath, catalog_file: str, tmp_path: Path) -> None:
    folder = str(tmp_path / "index")
    toolpath("index", catalog_file, "-o", folder, "--embedder", "hash")
    text = Path(catalog_file).read_text(encoding="utf-8")
    Path(catalog_file).write_text(text.replace("two cities", "two airports"), encoding="utf-8")
    assert toolpath("index", catalog_file, "-o", folder, "--embedder", "hash", "--json").json["embedded"] == 1


def test_a_damaged_index_is_refused_and_rebuilt_on_request(
    toolpath: Toolpath, catalog_file: str, tmp_path: Path
) -> None:
    folder = tmp_path / "index"
    toolpath("index", catalog_file, "-o", str(folder), "--embedder", "hash")
    (folder / "manifest.json").write_text("{", encoding="utf-8")
    refused = toolpath("route", catalog_file, "flights", "--index", str(folder), "--embedder", "hash")
    assert refused.code == 2
    assert "toolpath index" in refused.err
    assert toolpath("index", catalog_file, "-o", str(folder), "--embedder", "hash", "--rebuild").code == 0
    assert toolpath("route", catalog_file, "flights", "--index", str(folder), "--embedder", "hash").code == 0


def test_the_check_lists_tools_that_nothing_finds(toolpath: Toolpath, catalog_file: str, tmp_path: Path) -> None:
    report = toolpath("index", catalog_file, "-o", str(tmp_path / "i"), "--embedder", "hash", "--check", "--json").json
    assert report["unreachable"] == []


@pytest.mark.parametrize("request_", ["", "   "])
def test_an_empty_request_is_refused(toolpath: Toolpath, catalog_file: str, request_: str) -> None:
    done = toolpath("route", catalog_file, request_, "--embedder", "hash")
    assert done.code == 2
    assert "empty" in done.err


def test_rules_of_ones_own_are_read(toolpath: Toolpath, catalog_file: str, tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("- {category: travel, colour: red}\n", encoding="utf-8")
    done = toolpath("route", catalog_file, "flights", "--rules", str(rules), "--embedder", "hash")
    assert done.code == 2
    assert "colour" in done.err
