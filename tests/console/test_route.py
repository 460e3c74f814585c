"""`toolpath route` and `toolpath index` find tools and keep what they embedded."""

import json
import os
import subprocess
import sys
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


def _command(encoding: str, *arguments: str | bytes) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        [sys.executable, "-m", "toolpath.console.app", *arguments],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": encoding},
        check=False,
    )


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_no_character_is_too_much_for_the_terminal(catalog_file: str, encoding: str, tmp_path: Path) -> None:
    arguments = ("route", catalog_file, "天气 \udcff", "--embedder", "hash", "--index", str(tmp_path / "i"))
    told = _command(encoding, *arguments)
    assert (told.returncode, told.stderr) == (0, b"")
    decision = _command(encoding, *arguments, "--json")
    assert json.loads(decision.stdout)["request"] == "天气 \udcff"


def test_json_is_no_crash_when_standard_output_is_closed(
    toolpath: Toolpath, catalog_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert toolpath("show", catalog_file, "--json").code == 0


def test_a_cache_that_cannot_be_written_does_not_stop_the_routing(
    toolpath: Toolpath, catalog_file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    done = toolpath("route", catalog_file, "find flights between two cities", "--embedder", "hash", "--json")
    assert done.json["ranking"][0] == "flights.search"
    assert "the index is not kept for the next time" in done.err


def test_an_index_folder_that_cannot_be_made_is_named(toolpath: Toolpath, catalog_file: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = toolpath("index", catalog_file, "-o", str(tmp_path / "file" / "i"), "--embedder", "hash")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: the index cannot be kept in ")
