"""When a request names a tool, and when it only uses a word that is also a name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolpath.catalog import Tool
from toolpath.router.intent.names import NameIndex, bare_name


def index_of(*tools: Tool) -> NameIndex:
    index = NameIndex()
    for tool in tools:
        index.add(tool)
    return index


def named(request: str, *names: str) -> list[str]:
    return [hit.tool for hit in index_of(*(Tool(name=name) for name in names)).find(request)]


@pytest.mark.parametrize(
    "request_text",
    [
        "run search_text on the docs",
        "use searchText",
        "please search text in my files",
        "SEARCH_TEXT!",
        "“search_text”",
    ],
)
def test_a_name_is_found_however_it_is_written(request_text: str) -> None:
    assert named(request_text, "search_text", "get") == ["search_text"]


@pytest.mark.parametrize(
    ("request_text", "certain"),
    [
        ("run search_text now", True),
        ("run searchText now", True),
        ("search text in my files", False),
        ("the 'search text' thing", True),
        ("use the search text tool", True),
        ("search text; later search_text", True),
        ("convert text to speech please", True),
    ],
)
def test_two_spoken_words_are_a_perhaps(request_text: str, certain: bool) -> None:
    index = index_of(Tool(name="search_text"), Tool(name="text_to_speech"))
    assert [hit.certain for hit in index.find(request_text)] == [certain]


def test_a_quoted_value_is_not_the_bare_name_of_a_tool() -> None:
    assert named("the field 'query' is empty", "database.query") == []
    assert named("the field `query` is empty", "database.query") == ["database.query"]


@pytest.mark.parametrize(
    "request_text",
    ["research_text", "search_texts", "search_text_now", "searching text", "pre-search_text", "other.search_text"],
)
def test_a_longer_identifier_is_another_name(request_text: str) -> None:
    assert named(request_text, "search_text") == []


@pytest.mark.parametrize("request_text", ["get me the weather", "I get it", "forget it", "how do I get there?"])
def test_a_common_word_is_no_name(request_text: str) -> None:
    assert named(request_text, "get") == []


@pytest.mark.parametrize(
    "request_text", ["call `get` please", "get(1)", "use the get tool", "run the tool get", "'get'", "get", "用get工具"]
)
def test_a_common_word_is_a_name_where_it_is_marked_as_one(request_text: str) -> None:
    assert named(request_text, "get") == ["get"]


def test_words_of_the_language_alone_do_not_make_a_name() -> None:
    assert named("what do I have to do it with", "do_it", "to_do") == []


def test_the_namespace_may_be_left_out_but_not_exchanged() -> None:
    assert named("list_issues of the repository", "github.list_issues") == ["github.list_issues"]
    assert named("github.list_issues", "github.list_issues", "gitlab.list_issues") == ["github.list_issues"]
    assert named("bitbucket.list_issues", "github.list_issues") == []


def test_a_bare_name_on_many_servers_names_none_of_them() -> None:
    servers = [f"server{number}.read_file" for number in range(6)]
    assert named("read_file x", *servers[:5]) == servers[:5]
    assert named("read_file x", *servers) == []


def test_aliases_count_as_names() -> None:
    index = index_of(Tool(name="mail.send", aliases=("send_email",)))
    assert [hit.tool for hit in index.find("send email to Ann")] == ["mail.send"]


def test_names_without_spaces_are_found_inside_a_sentence_when_they_are_long_enough() -> None:
    assert named("请用查询天气预报看看北京", "查询天气预报") == ["查询天气预报"]
    assert named("今天天气怎么样", "天气") == []
    assert named("用「天气」查北京", "天气") == ["天气"]


@pytest.mark.parametrize("request_text", ["查询", "天气.查询", "请查询"])
def test_a_request_may_end_in_a_name_that_is_shorter_than_another_one(request_text: str) -> None:
    index = index_of(Tool(name="天气.查询"), Tool(name="查询未来七天的天气预报"))
    assert all(hit.tool == "天气.查询" for hit in index.find(request_text))


def test_a_removed_tool_is_no_longer_named() -> None:
    tool = Tool(name="github.list_issues", aliases=("查询所有问题",))
    index = index_of(tool, Tool(name="list_pulls"))
    index.remove(tool)
    assert index.find("list_issues 查询所有问题 github.list_issues") == []
    assert [hit.tool for hit in index.find("list_pulls")] == ["list_pulls"]


@pytest.mark.parametrize(
    ("name", "bare"),
    [
        ("github.list_issues", "list_issues"),
        ("mcp__files__read_file", "read_file"),
        ("alfresco/get_node", "get_node"),
        ("GET /movie/{movie_id}", "GET /movie/{movie_id}"),
        ("change_drink__2", "change_drink__2"),
        ("plain", "plain"),
    ],
)
def test_the_bare_name_leaves_the_server_out(name: str, bare: str) -> None:
    assert bare_name(Tool(name=name)) == bare


@given(st.text(max_size=200))
def test_any_text_can_be_looked_through(text: str) -> None:
    assert all(
        hit.tool in ("a_b", "查询天气预报", "get")
        for hit in index_of(Tool(name="a_b"), Tool(name="查询天气预报"), Tool(name="get")).find(text)
    )
