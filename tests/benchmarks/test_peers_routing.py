"""The comparison with peers: what is measured, what is kept, and that no row is lost on the way to the table."""

from __future__ import annotations

import json
import sys
import urllib.error
import urllib.request
from dataclasses import replace
from pathlib import Path

import numpy as np
import peers_routing
import pytest
from peers import own
from peers.datasets import Dataset, folders_of, open_dataset
from peers.environments import python_of, version_of
from peers.process import PeerError, run_adapter
from peers.records import Answer, Found, Prices, Records, key_of, slug
from peers.roster import DEFAULT_ROW, DENSE_ROW, PLAIN_ROW, ROWS, Row, selected
from peers.scoring import Verdict, difference, recalls
from peers.table import as_data, as_page, lines_of
from peers.vectors import EmbeddingServer, StoredEmbedder
from toolpath.router import HashEmbedder
from toolpath.router.embedding import TextKind, Vectors
from toolpath.router.evaluation import Query

ADAPTERS = Path(peers_routing.__file__).parent / "peers" / "adapters"
TOOLS = ("refund_order", "get_weather", "get_weather_again")
QUERIES = (
    Query("1", "weather in Oslo", tools=("get_weather",), alternatives=(("get_weather_again",),)),
    Query("2", "refund my order and tell me the weather", tools=("refund_order", "get_weather")),
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with one set of three tools, two requests that they serve and one that none serves."""
    folder = tmp_path / "data" / "shop"
    folder.mkdir(parents=True)
    tools = [{"name": name, "description": name.replace("_", " "), "parameters": {}} for name in TOOLS]
    rows = [
        {"id": "1", "query": QUERIES[0].query, "tools": ["get_weather"], "tools_alt": [["get_weather_again"]]},
        {"id": "2", "query": QUERIES[1].query, "tools": ["refund_order", "get_weather"]},
        {"id": "3", "query": "sing a song", "tools": [], "expect_none": True},
    ]
    (folder / "tools.jsonl").write_text("\n".join(map(json.dumps, tools)))
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


@pytest.fixture
def shop(data: Path) -> Dataset:
    return open_dataset(data, None)


def found(*rankings: tuple[str, ...], **fields: object) -> Found:
    return replace(Found("key", tuple(Answer(names, 0.001) for names in rankings)), **fields)  # type: ignore[arg-type]


# what is measured


def test_an_alternative_counts_as_the_tool_that_it_stands_in_for() -> None:
    assert recalls(QUERIES[:1], [["refund_order", "get_weather_again"]], 2).tolist() == [1.0]


def test_recall_is_the_share_of_a_requests_tools_within_k() -> None:
    rankings = [["get_weather"], ["refund_order", "get_weather_again", "get_weather"]]
    assert recalls(QUERIES, rankings, 2).tolist() == [1.0, 0.5]
    assert recalls(QUERIES, rankings, 3).tolist() == [1.0, 1.0]


def test_requests_that_no_tool_serves_are_not_scored(shop: Dataset) -> None:
    assert [query.id for query in shop.queries] == ["1", "2"]


@pytest.mark.parametrize(
    ("default", "row", "verdict"),
    [
        ([1.0] * 40, [0.0] * 40, Verdict.BELOW),
        ([0.0] * 40, [1.0] * 40, Verdict.ABOVE),
        ([1.0, 0.0] * 20, [0.0, 1.0] * 20, Verdict.TIE),
        ([1.0] * 40, [1.0] * 40, Verdict.TIE),
    ],
)
def test_a_difference_whose_interval_holds_0_is_a_tie(default: list[float], row: list[float], verdict: Verdict) -> None:
    assert difference(np.array(default), np.array(row), resamples=500).verdict is verdict


def test_the_interval_is_of_the_paired_difference() -> None:
    """Rows that agree on all but a few requests differ surely, however much the requests themselves vary."""
    default = np.array([1.0, 0.0] * 100)
    row = default.copy()
    row[:20:2] = 0.0
    gap = difference(default, row, resamples=500)
    assert gap.mean == pytest.approx(0.05)
    assert 0 < gap.low < 0.05 < gap.high < 0.1


def test_embedding_costs_every_row_the_same_whatever_came_from_a_cache() -> None:
    run = replace(
        found(("get_weather",)),
        index_seconds=1.0,
        index_texts=101,
        index_calls=1,
        prices=Prices(request=0.01, text=0.002),
    )
    run = replace(run, answers=(Answer((), 0.003, 1, 1), Answer((), 0.003, 5, 2), Answer((), error="no")))
    assert run.seconds_to_index == pytest.approx(1.21)
    assert run.latencies() == [pytest.approx(0.013), pytest.approx(0.029)]
    assert replace(run, prices=None).latencies() == [0.003, 0.003]


# what is kept


def test_a_result_is_kept_until_what_decided_it_changes(tmp_path: Path) -> None:
    records = Records(tmp_path)
    run = found(("get_weather",), ("refund_order",), prices=Prices(0.01, 0.001), version="callbus 1", date="2026-01-01")
    records.save("callbus (BM25)", "shop", run)
    assert records.load("callbus (BM25)", "shop", "key") == run
    assert records.load("callbus (BM25)", "shop", "another key") is None
    assert records.load("bm25s alone", "shop", "key") is None


def test_every_input_changes_the_key() -> None:
    assert len({key_of(inputs) for inputs in ({"k": 5}, {"k": 10}, {"k": 10, "set": "a"}, {"k": 10, "set": "b"})}) == 4


def test_rows_have_files_of_their_own() -> None:
    assert len({slug(row.name) for row in ROWS}) == len(ROWS)


def test_a_change_of_toolpath_makes_its_rows_stale_and_no_others(bench: peers_routing.Bench, shop: Dataset) -> None:
    changed = replace(bench, sources="other")
    stale = {row.name for row in ROWS if bench.key(row, shop) != changed.key(row, shop)}
    assert stale == {DEFAULT_ROW, PLAIN_ROW}


def test_a_row_that_embeds_is_stale_with_other_weights_and_one_of_words_is_not(
    bench: peers_routing.Bench, shop: Dataset, tmp_path: Path
) -> None:
    changed = replace(bench, plain=StoredEmbedder(HashEmbedder(64), tmp_path))
    stale = {row.name for row in ROWS if bench.key(row, shop) != changed.key(row, shop)}
    assert stale == {row.name for row in ROWS if row.reads_vectors and row.name != DEFAULT_ROW}


# the vectors


class CountingEmbedder(HashEmbedder):
    """Counts the texts that it embeds."""

    def __init__(self) -> None:
        super().__init__(32)
        self.embedded: list[str] = []

    def embed(self, texts: list[str], kind: TextKind) -> Vectors:  # type: ignore[override]
        self.embedded += texts
        return super().embed(texts, kind)


def test_a_text_is_embedded_once_in_all_runs(tmp_path: Path) -> None:
    inner = CountingEmbedder()
    first = StoredEmbedder(inner, tmp_path).embed(["a", "b", "a"], "tool")
    again = StoredEmbedder(inner, tmp_path)
    np.testing.assert_array_equal(again.embed(["a", "b", "a"], "tool"), first)
    assert sorted(inner.embedded) == ["a", "b"]
    assert (again.texts, again.calls) == (3, 1)
    assert again.seconds > 0


def test_only_a_symmetric_embedder_shares_vectors_between_requests_and_tools(tmp_path: Path) -> None:
    for symmetric, made in ((True, 1), (False, 2)):
        inner = CountingEmbedder()
        stored = StoredEmbedder(inner, tmp_path / str(symmetric), symmetric=symmetric)
        stored.embed(["a"], "query")
        stored.embed(["a"], "tool")
        assert len(inner.embedded) == made


def test_the_server_gives_the_embedders_vectors(embeddings: type) -> None:
    with EmbeddingServer(HashEmbedder(32)) as server:
        client = embeddings(server.url)
        vectors = client(["weather in Oslo", "天气"])
        client.close()
    np.testing.assert_allclose(vectors, HashEmbedder(32).embed(["weather in Oslo", "天气"], "tool"))
    assert client.texts == 2
    assert client.seconds > 0


def test_the_server_says_what_is_wrong_with_an_order() -> None:
    with EmbeddingServer(HashEmbedder(32)) as server:
        order = urllib.request.Request(f"{server.url}/embeddings", b"{}", method="POST")
        with pytest.raises(urllib.error.HTTPError) as raised:
            urllib.request.urlopen(order, timeout=10)
        assert "KeyError" in raised.value.read().decode()
        raised.value.close()


# peers' processes


PEER = """
from peer_protocol import serve

def build(tools, embeddings, options):
    print("chatter on standard output")
    {build}
    def find(request, k):
        {find}
    return find

serve(build)
"""


@pytest.fixture
def adapter(tmp_path: Path) -> object:
    def write(build: str = "pass", find: str = "return [tool.name for tool in tools][:k]") -> list[str]:
        script = tmp_path / "adapter.py"
        start = f"import sys, os, time\nsys.path.insert(0, {str(ADAPTERS)!r})\n"
        script.write_text(start + PEER.format(build=build, find=find))
        return [sys.executable, str(script)]

    return write


def order(url: str = "http://127.0.0.1:9/v1", k: int = 2) -> dict[str, object]:
    tools = [{"name": n, "description": "", "parameters": {}, "server": "", "category": ""} for n in TOOLS]
    return {"tools": tools, "options": {}, "embeddings": url, "k": k}


def test_a_peer_answers_every_request(adapter) -> None:  # type: ignore[no-untyped-def]
    run = run_adapter(adapter(), order(), ["a", "b"], timeout=60)
    assert [answer.names for answer in run.answers] == [TOOLS[:2], TOOLS[:2]]
    assert run.index_texts == 0


def test_what_a_peer_waits_for_vectors_is_not_its_own_time(adapter) -> None:  # type: ignore[no-untyped-def]
    with EmbeddingServer(HashEmbedder(32)) as server:
        command = adapter("embeddings([tool.name for tool in tools])", "embeddings([request, request]); return []")
        run = run_adapter(command, order(server.url), ["a"], timeout=60)
    assert (run.index_texts, run.index_calls) == (3, 1)
    assert (run.answers[0].embedded, run.answers[0].calls) == (2, 1)


def test_a_request_that_a_peer_cannot_take_costs_it_that_request_only(adapter) -> None:  # type: ignore[no-untyped-def]
    command = adapter(find="return [tool.name for tool in tools][: 1 // len(request)]")
    run = run_adapter(command, order(), ["", "a"], timeout=60)
    assert run.answers[0].error is not None and run.answers[0].error.startswith("ZeroDivisionError")
    assert run.answers[1].names == TOOLS[:1]


def test_a_peer_that_crashes_says_why(adapter) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(PeerError, match="crashed: ValueError: no such backend"):
        run_adapter(adapter(build="raise ValueError('no such backend')"), order(), ["a"], timeout=60)
    with pytest.raises(PeerError, match="crashed: without a word|crashed: chatter"):
        run_adapter(adapter(find="os._exit(3)"), order(), ["a"], timeout=60)


def test_a_peer_that_takes_too_long_is_ended(adapter) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(PeerError, match="not done after"):
        run_adapter(adapter(build="sys.stdin.read()"), order(), ["a"], timeout=0.5)


def test_an_environment_that_cannot_be_made_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "nothing.txt").write_text("nothing==1.0\n")
    monkeypatch.setattr(Row, "constraints", property(lambda self: tmp_path / "nothing.txt"))
    monkeypatch.setattr("peers.environments.sys.executable", "/does/not/exist")
    with pytest.raises(PeerError, match="nothing cannot be installed"):
        python_of(Row("nothing", "nothing", "", "nothing"), tmp_path / "venvs")


def test_every_peer_has_an_adapter_and_pins_itself() -> None:
    for row in ROWS:
        if row.adapter is not None:
            assert row.script.is_file()
            assert version_of(row).startswith(f"{row.peer} ")
            lines = row.constraints.read_text().splitlines()
            assert all("==" in line or line.startswith("#") for line in lines)


# our own rows and the table


@pytest.fixture
def bench(tmp_path: Path) -> peers_routing.Bench:
    return peers_routing.Bench(
        k=3,
        timeout=60,
        venvs=tmp_path / "venvs",
        plain=StoredEmbedder(HashEmbedder(128), tmp_path / "vectors"),
        default=StoredEmbedder(HashEmbedder(256), tmp_path / "vectors"),
        records=Records(tmp_path / "results"),
        server="http://127.0.0.1:9/v1",
        sources="sources",
    )


OWN = [row for row in ROWS if row.adapter is None]


def test_our_own_rows_are_run_once_and_find_the_tools(
    bench: peers_routing.Bench, shop: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    peers_routing.run_rows(bench, shop, OWN)
    for row in OWN:
        kept = bench.records.load(row.name, shop.name, bench.key(row, shop))
        assert kept is not None and kept.failure is None and kept.prices is not None
        assert recalls(shop.queries, [answer.names for answer in kept.answers], 3).mean() == 1.0
        assert [answer.embedded for answer in kept.answers if row.name == DENSE_ROW] in ([], [1, 1])
    capsys.readouterr()
    peers_routing.run_rows(bench, shop, OWN)
    assert capsys.readouterr().out.count("kept from") == len(OWN)


def test_a_failure_is_in_the_table_and_tried_again(
    bench: peers_routing.Bench, shop: Dataset, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def cannot(*arguments: object) -> None:
        raise PeerError("callbus cannot be installed: no such version")

    monkeypatch.setattr(peers_routing, "python_of", cannot)
    rows = [row for row in ROWS if row.name == "callbus (BM25)"]
    for _ in range(2):
        peers_routing.run_rows(bench, shop, rows)
        assert "no such version" in capsys.readouterr().out
    kept = {rows[0].name: bench.records.load(rows[0].name, shop.name, bench.key(rows[0], shop))}
    page = as_page({"shop": (shop, lines_of(shop, ROWS, kept, 3))}, {})  # type: ignore[arg-type]
    assert "| callbus (BM25) | no result: callbus cannot be installed: no such version |" in page


def test_the_table_has_every_row_and_marks_ties_and_rows_above(shop: Dataset) -> None:
    best = (("get_weather",), ("refund_order", "get_weather"))
    kept = {
        DEFAULT_ROW: found(("get_weather",), ("refund_order",)),
        PLAIN_ROW: found(("refund_order",), ("get_weather_again",)),
        DENSE_ROW: found(*best),
        "bm25s alone": found(("get_weather",), ("refund_order",)),
    }
    tables = {"shop": (shop, lines_of(shop, ROWS, kept, 10))}
    page = as_page(tables, {"Machine": "a machine"})
    for row in ROWS:
        assert page.count(f"| {row.name} |") == 2  # in the overview and in the set's own table
        assert f"- **{row.name}**" in page
    assert "| bm25s alone | 0.750 = |" in page
    assert "| dense alone | **1.000** =" in page  # the interval of two requests holds 0
    assert "| callbus (BM25) | no result: not run" in page
    data = as_data(tables, {"Machine": "a machine"})
    rows = {row["row"]: row for row in data["sets"]["shop"]["rows"]}
    assert rows[DENSE_ROW]["recall"] == {"1": 0.75, "5": 1.0, "10": 1.0}
    assert rows[DENSE_ROW]["difference"]["5"]["verdict"] == "tie"
    assert rows[PLAIN_ROW]["difference"]["5"]["verdict"] == "below"
    assert "failure" in rows["callbus (BM25)"]
    json.dumps(data)


def test_without_toolpath_there_are_recalls_and_no_differences(shop: Dataset) -> None:
    lines = lines_of(shop, ROWS, {DENSE_ROW: found(("get_weather",), ("refund_order",))}, 5)
    [dense] = [line for line in lines if line.row.name == DENSE_ROW]
    assert dense.recall == {1: 0.75, 5: 0.75}
    assert not dense.differences


def test_sets_are_found_in_folders_of_folders(data: Path, tmp_path: Path) -> None:
    assert folders_of([data.parent]) == folders_of([data]) == folders_of([data, data.parent]) == [data]
    with pytest.raises(SystemExit, match="holds no folder"):
        folders_of([tmp_path / "results"])


def test_a_set_that_no_tool_serves_is_left_out_of_its_folder_with_a_word(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    beside = data.parent / "refusals"
    beside.mkdir()
    (beside / "tools.jsonl").write_text((data / "tools.jsonl").read_text())
    (beside / "queries.jsonl").write_text('{"id": "1", "query": "order a pizza", "tools": [], "expect_none": true}\n')
    assert folders_of([data.parent]) == [data]
    assert "refusals is left out: no tool serves any of its requests" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="no request that a tool serves"):
        open_dataset(beside, None)


def test_peers_are_selected_by_name() -> None:
    assert {row.peer for row in selected("callbus, dense")} == {"callbus", "dense"}
    assert selected(None) == list(ROWS)
    with pytest.raises(SystemExit, match="no such peer: calbus"):
        selected("calbus")


def test_the_version_of_toolpath_is_named() -> None:
    assert own.source_version().startswith("toolpath ")
    assert own.source_digest() == own.source_digest()


@pytest.fixture
def embeddings(monkeypatch: pytest.MonkeyPatch) -> type:
    """The adapters' client of the embedding server."""
    monkeypatch.syspath_prepend(str(ADAPTERS))
    from peer_protocol import Embeddings  # type: ignore[import-not-found]

    return Embeddings  # type: ignore[no-any-return]
