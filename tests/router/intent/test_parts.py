"""How a request is split into wishes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolpath.router.intent.parts import MAX_PARTS, split_parts


@pytest.mark.parametrize(
    ("request_text", "parts"),
    [
        ("find flights to Rome and then book a hotel", ("find flights to Rome", "book a hotel")),
        ("Open the ticket; assign it to Ann", ("Open the ticket", "assign it to Ann")),
        ("Find the log. After that, mail it to Bob.", ("Find the log", "mail it to Bob")),
        ("1. check the disk\n2. restart the node", ("check the disk", "restart the node")),
        ("Please: 1) list the alerts 2) silence them", ("list the alerts", "silence them")),
        ("- open the door\n- close the window", ("open the door", "close the window")),
        ("查询明天的天气，然后发邮件给张三", ("查询明天的天气", "发邮件给张三")),
        ("重启服务并且通知值班同事", ("重启服务", "通知值班同事")),
        ("先查看日志，再重启数据库", ("查看日志", "重启数据库")),
    ],
)
def test_several_wishes_are_told_apart(request_text: str, parts: tuple[str, ...]) -> None:
    assert split_parts(request_text) == parts


@pytest.mark.parametrize(
    "request_text",
    [
        "what is the weather in Oslo and Rome",
        'translate "first eat; then sleep" into German',
        "把“先吃饭，然后睡觉”翻译成英文",
        "then",
        "version 1.2 of the app",
        "今天天气怎么样",
        "x; y",
    ],
)
def test_one_wish_stays_whole(request_text: str) -> None:
    assert split_parts(request_text) == (request_text,)


def test_a_document_is_not_split() -> None:
    text = "find this; " * 5_000
    assert split_parts(text) == (text.strip(),)


@given(st.text(max_size=300))
def test_there_is_always_a_part_and_never_too_many(text: str) -> None:
    parts = split_parts(text)
    assert 1 <= len(parts) <= MAX_PARTS
    assert parts == (text.strip(),) or all(parts)
