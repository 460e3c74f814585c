"""Which tools need which: what is declared, linked, named and typed; closures, their order and their limits."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from toolpath.catalog import Catalog, Tool
from toolpath.catalog.errors import UnknownToolError
from toolpath.router.dependencies import Dependency, DependencyGraph, EdgeKind

TEXT = {"type": "string"}
USERS = {"type": "array", "items": {"properties": {"id": TEXT}}}


def tool(name: str, needs: dict[str, Any] | None = None, gives: dict[str, Any] | None = None, **fields: Any) -> Tool:
    """A tool that requires `needs` and returns an object with the properties `gives`."""
    return Tool(
        name=name,
        parameters={"properties": needs or {}, "required": list(needs or {})},
        returns=None if gives is None else {"type": "object", "properties": gives},
        **fields,
    )


def edges(name: str, *tools: Tool) -> list[tuple[str, str, str]]:
    """Producer, parameter and path of each edge of a tool."""
    return [(edge.producer, edge.parameter, edge.path) for edge in DependencyGraph(Catalog(tools)).needs(name)]


def order(graph: DependencyGraph, *names: str, **options: Any) -> list[str]:
    return [prerequisite.tool for prerequisite in graph.closure(names, **options)]


def test_a_property_of_a_result_fills_the_parameter_of_its_name() -> None:
    send = tool("send_invoice", {"customer_id": TEXT})
    found = tool("find_customer", {"name": TEXT}, {"customer_id": TEXT, "name": TEXT})
    assert edges("send_invoice", send, found) == [("find_customer", "customer_id", "customer_id")]


@pytest.mark.parametrize(
    ("producer", "path"),
    [
        (tool("get_user_by_email", gives={"userId": TEXT}), "userId"),
        (tool("whoami", gives={"user": {"properties": {"id": TEXT}}}), "user.id"),
        (
            tool("search_users", gives={"users": USERS}),
            "users[0].id",
        ),
        (tool("find_user", gives={"id": TEXT}), "id"),
        (tool("create_user", gives={"data": {"properties": {"id": TEXT}}}), "data.id"),
    ],
    ids=lambda value: value.name if isinstance(value, Tool) else "",
)
def test_an_id_is_recognised_by_what_it_stands_in_or_by_what_its_tool_is_about(producer: Tool, path: str) -> None:
    assert edges("mute", tool("mute", {"user_id": TEXT}), producer) == [(producer.name, "user_id", path)]


def test_a_bare_id_asks_for_that_of_its_own_tools_thing() -> None:
    delete = tool("delete_playlist", {"id": TEXT})
    assert edges(
        "delete_playlist", delete, tool("find_playlist", gives={"id": TEXT}), tool("find_song", gives={"id": TEXT})
    ) == [("find_playlist", "id", "id")]


def test_a_longer_parameter_takes_a_reference_that_it_ends_with() -> None:
    fly = tool("search_flights", {"originSkyId": TEXT})
    assert edges("search_flights", fly, tool("airports", gives={"skyId": TEXT})) == [
        ("airports", "originSkyId", "skyId")
    ]


@pytest.mark.parametrize("name", ["name", "text", "date", "location", "page_number", "file_path"])
def test_a_common_name_connects_nothing(name: str) -> None:
    assert edges("use", tool("use", {name: TEXT}), tool("make", gives={name: TEXT})) == []


@pytest.mark.parametrize(
    ("needed", "given"),
    [
        (TEXT, {"type": "integer"}),
        ({"type": "string", "format": "uuid"}, {"type": "string", "format": "uri"}),
        ({"type": "array", "items": TEXT}, TEXT),
    ],
)
def test_types_and_formats_that_exclude_each_other_connect_nothing(needed: Any, given: Any) -> None:
    assert edges("use", tool("use", {"order_id": needed}), tool("make", gives={"order_id": given})) == []


@pytest.mark.parametrize("extra", [{"enum": ["a"]}, {"default": "a"}, {"const": "a"}])
def test_what_the_caller_chooses_is_not_asked_of_other_tools(extra: Any) -> None:
    assert edges("use", tool("use", {"order_id": TEXT | extra}), tool("make", gives={"order_id": TEXT})) == []


def test_an_optional_parameter_needs_nothing() -> None:
    use = Tool(name="use", parameters={"properties": {"order_id": TEXT}})
    assert edges("use", use, tool("make", gives={"order_id": TEXT})) == []


def test_a_tool_that_requires_what_it_returns_gives_nothing_new() -> None:
    cancel = tool("cancel_order", {"order_id": TEXT})
    echo = tool("get_order", {"order_id": TEXT}, {"order_id": TEXT})
    about = tool("order_status", {"id": TEXT}, {"order_id": TEXT})
    found = tool("list_orders", gives={"orders": {"type": "array", "items": {"properties": {"order_id": TEXT}}}})
    assert [producer for producer, _, _ in edges("cancel_order", cancel, echo, about, found)] == [
        "list_orders",
        "order_status",
    ]
    assert "cancel_order" not in [producer for producer, _, _ in edges("cancel_order", cancel)]


def test_ids_of_another_server_are_other_ids() -> None:
    mute = tool("slack.mute", {"user_id": TEXT})
    assert edges("slack.mute", mute, tool("github.find", gives={"user_id": TEXT})) == [
        ("github.find", "user_id", "user_id")
    ]
    finders = [tool(name, gives={"user_id": TEXT}) for name in ("github.find", "slack.find")]
    both = edges("slack.mute", mute, *finders)
    assert both[0][0] == "slack.find"
    assert edges("slack.mute", mute, tool("github.whoami", gives={"user": {"properties": {"id": TEXT}}})) == []


def test_of_many_producers_the_best_are_taken_and_of_too_many_none() -> None:
    use = tool("add_track", {"playlist_id": TEXT})
    some = [tool(f"other_{place}", gives={"playlist_id": TEXT}) for place in range(8)]
    finder = tool("search_playlists", gives={"playlist_id": TEXT})
    found = edges("add_track", use, *some, finder)
    assert len(found) == 3 and found[0][0] == "search_playlists"
    assert edges("add_track", use, *(tool(f"other_{place}", gives={"playlist_id": TEXT}) for place in range(25))) == []


@pytest.mark.parametrize(
    "description",
    ["The id that `find_spot` returns", "Obtained from the Find Spot API.", "id of the spot, retrieved from find_spot"],
)
def test_a_description_that_names_a_tool_is_believed(description: str) -> None:
    book = tool("book", {"spot": TEXT | {"description": description}})
    found = DependencyGraph(Catalog([book, tool("maps.find_spot"), tool("spot")])).needs("book")
    assert [(edge.producer, edge.kind) for edge in found] == [("maps.find_spot", EdgeKind.NAMED)]


def test_a_tool_without_a_described_result_is_judged_by_its_name_on_its_own_server_only() -> None:
    close = tool("jira.close_issue", {"issue_id": TEXT})
    names = ("jira.create_issue", "jira.search_issues", "gitlab.search_issues", "jira.search_users")
    makers = [tool(name) for name in names]
    found = DependencyGraph(Catalog([close, *makers])).needs("jira.close_issue")
    assert [(edge.producer, edge.kind) for edge in found] == [
        ("jira.search_issues", EdgeKind.IMPLIED),
        ("jira.create_issue", EdgeKind.IMPLIED),
    ]


def test_what_a_tool_declares_is_taken_at_its_word() -> None:
    catalog = Catalog(
        [
            tool("ship", {"order_id": TEXT}, depends_on=("pay", "address_check")),
            tool("pay"),
            tool("address_check"),
            tool("find_order", gives={"order_id": TEXT}),
        ]
    )
    assert DependencyGraph(catalog).needs("ship") == (
        Dependency("ship", "pay", EdgeKind.DECLARED),
        Dependency("ship", "address_check", EdgeKind.DECLARED),
    )


def test_a_declaration_may_say_which_parameter_is_filled() -> None:
    written = [{"tool": "validate_email", "parameter": "email"}, {"tool": "login", "parameter": None}]
    mail = tool("mail", depends_on=("validate_email", "login"), metadata={"depends_on": written})
    graph = DependencyGraph(Catalog([mail, tool("validate_email"), tool("login")]))
    assert [edge.why for edge in graph.needs("mail")] == [
        "gives email to mail (declared)",
        "comes before mail (declared)",
    ]


def test_an_alias_may_be_declared() -> None:
    graph = DependencyGraph(Catalog([tool("a", depends_on=("old_b",)), tool("b", aliases=("old_b",))]))
    assert order(graph, "a") == ["b"]


def test_links_of_a_producer_lead_to_its_consumers() -> None:
    links = {
        "owner": {"operationId": "getUser", "parameters": {"path.userId": "$response.body#/owners/0/id"}},
        "next": {"operationId": "getPage"},
    }
    catalog = Catalog([tool("getRepo", metadata={"links": links}), tool("getUser", {"userId": TEXT}), tool("getPage")])
    graph = DependencyGraph(catalog)
    assert graph.needs("getUser") == (Dependency("getUser", "getRepo", EdgeKind.LINKED, "userId", "owners[0].id"),)
    assert graph.needs("getPage")[0].why == "comes before getPage (by a link)"
    catalog.replace(tool("getRepo"))
    assert graph.needs("getUser") == ()


def test_unknown_names_are_reported_and_do_no_harm() -> None:
    links = [{"operationId": "nowhere"}, {"parameters": {}}]
    graph = DependencyGraph(Catalog([tool("a", depends_on=("gone", "b")), tool("b", metadata={"links": links})]))
    assert order(graph, "a") == ["b"]
    assert [(found.tool, found.names) for found in graph.dangling()] == [("a", "gone"), ("b", "nowhere"), ("b", "")]


def test_only_what_is_declared_counts_when_nothing_may_be_inferred() -> None:
    catalog = Catalog([tool("use", {"order_id": TEXT}), tool("make", gives={"order_id": TEXT})])
    assert DependencyGraph(catalog, inferred=False).needs("use") == ()


def chain() -> Catalog:
    return Catalog(
        [
            tool("a", depends_on=("b", "c")),
            tool("b", depends_on=("d",)),
            tool("c", depends_on=("d",)),
            tool("d", depends_on=("e",)),
            tool("e"),
            tool("x", depends_on=("y",)),
            tool("y"),
        ]
    )


def test_producers_come_before_their_consumers() -> None:
    graph = DependencyGraph(chain())
    assert order(graph, "a") == ["e", "d", "b", "c"]
    assert order(graph, "b") == ["e", "d"]
    assert order(graph, "e") == []
    d = graph.closure(["a"])[1]
    assert (d.pick, d.steps, {edge.consumer for edge in d.because}) == ("a", 2, {"b", "c"})


def test_a_limit_cuts_off_what_is_far_and_what_later_picks_need() -> None:
    graph = DependencyGraph(chain())
    assert set(order(graph, "a", limit=2)) == {"b", "c"}
    assert set(order(graph, "a", "x", limit=4)) == {"b", "c", "d", "e"}
    assert set(order(graph, "x", "a", limit=3)) == {"y", "b", "c"}
    assert set(order(graph, "a", depth=2)) == {"b", "c", "d"}
    assert order(graph, "a", limit=0) == order(graph, "a", depth=0) == []


def test_a_cycle_ends_and_keeps_its_order_with_the_rest() -> None:
    catalog = Catalog(
        [
            tool("use", depends_on=("get", "set")),
            tool("get", depends_on=("set", "base")),
            tool("set", depends_on=("get",)),
            tool("base"),
            tool("self", depends_on=("self",)),
        ]
    )
    graph = DependencyGraph(catalog)
    found = order(graph, "use")
    assert sorted(found) == ["base", "get", "set"] and found.index("base") < found.index("get")
    assert sorted(order(graph, "get")) == ["base", "set"]
    assert order(graph, "self") == []


def test_a_pick_is_not_in_its_own_closure_and_forbidden_tools_end_the_way() -> None:
    graph = DependencyGraph(chain())
    assert set(order(graph, "a", "b")) == {"c", "d", "e"}
    assert set(order(graph, "a", allowed=lambda name: name != "d")) == {"b", "c"}


def test_unknown_picks_are_an_error() -> None:
    graph = DependencyGraph(chain())
    with pytest.raises(UnknownToolError, match="'aa'"):
        graph.closure(["aa"])
    with pytest.raises(UnknownToolError):
        graph.needs("aa")


def test_a_long_chain_does_not_overflow() -> None:
    tools = [tool(f"t{place}", depends_on=(f"t{place + 1}",)) for place in range(3_000)]
    graph = DependencyGraph(Catalog([*tools, tool("t3000")]))
    found = order(graph, "t0", limit=5_000)
    assert len(found) == 3_000 and found[0] == "t3000" and found[-1] == "t1"


def test_changes_of_the_catalog_are_followed_at_once() -> None:
    catalog = Catalog([tool("use", {"order_id": TEXT})])
    graph = DependencyGraph(catalog)
    assert order(graph, "use") == []
    catalog.add(tool("make", gives={"order_id": TEXT}))
    assert order(graph, "use") == ["make"]
    catalog.replace(tool("make", gives={"other": TEXT}))
    assert order(graph, "use") == []
    catalog.replace(tool("use", depends_on=("make",)))
    assert order(graph, "use") == ["make"]
    catalog.remove("make")
    assert order(graph, "use") == []


def test_one_changed_tool_costs_one_tools_work(monkeypatch: pytest.MonkeyPatch) -> None:
    from toolpath.router.dependencies import index

    makers = [tool(f"make_{place}", gives={"x": TEXT}) for place in range(50)]
    catalog = Catalog([tool("use", {"order_id": TEXT}), *makers])
    graph = DependencyGraph(catalog)
    graph.needs("use")
    read: list[str] = []
    gifts_of = index.gifts_of
    monkeypatch.setattr(index, "gifts_of", lambda tool, naming: read.append(tool.name) or gifts_of(tool, naming))
    catalog.replace(tool("make_7", gives={"order_id": TEXT}))
    assert [edge.producer for edge in graph.needs("use")] == ["make_7"] and read == ["make_7"]


def test_the_graph_may_be_asked_while_the_catalog_changes() -> None:
    catalog = chain()
    graph = DependencyGraph(catalog)
    stop = threading.Event()
    failures: list[BaseException] = []

    def change() -> None:
        while not stop.is_set():
            catalog.replace(tool("b", depends_on=("e",)))
            catalog.replace(tool("b", depends_on=("d",)))

    worker = threading.Thread(target=change)
    worker.start()
    try:
        for _ in range(300):
            assert {"b", "c", "d", "e"} == set(order(graph, "a"))
    except BaseException as error:  # noqa: BLE001
        failures.append(error)
    finally:
        stop.set()
        worker.join()
    assert not failures


def test_a_graph_does_not_outlive_its_use() -> None:
    import gc
    import weakref

    catalog = chain()
    graph = DependencyGraph(catalog)
    reference = weakref.ref(graph)
    del graph
    gc.collect()
    assert reference() is None
    catalog.add(tool("z"))
