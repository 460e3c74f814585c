"""How a request is split into wishes, what is never cut, and which wish needs which."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolpath.router.intent.parts import MAX_LENGTH, MAX_PARTS, split, split_parts


@pytest.mark.parametrize(
    ("request_text", "parts"),
    [
        ("find flights to Rome and then book a hotel", ("find flights to Rome", "book a hotel")),
        ("Open the ticket; assign it to Ann", ("Open the ticket", "assign it to Ann")),
        ("Find the log. After that, mail it to Bob.", ("Find the log", "mail it to Bob")),
        ("1. check the disk\n2. restart the node", ("check the disk", "restart the node")),
        ("Please: 1) list the alerts 2) silence them", ("list the alerts", "silence them")),
        ("- open the door\n- close the window", ("open the door", "close the window")),
        ("flights to Rome; hotels in Rome", ("flights to Rome", "hotels in Rome")),
        ("查询明天的天气，然后发邮件给张三", ("查询明天的天气", "发邮件给张三")),
        ("重启服务并且通知值班同事", ("重启服务", "通知值班同事")),
        ("先查看日志，再重启数据库", ("查看日志", "重启数据库")),
        ("北京明天下雨吗？帮我订一张去上海的机票。", ("北京明天下雨吗？", "帮我订一张去上海的机票")),
        ("What's the weather in Paris? And find me a hotel", ("What's the weather in Paris?", "find me a hotel")),
        ("check the disk, restart the node and mail Ann", ("check the disk", "restart the node", "mail Ann")),
        ("Tell me the time in Oslo and also book a table", ("Tell me the time in Oslo", "book a table")),
        ("play Tom and Jerry and turn on the lights", ("play Tom and Jerry", "turn on the lights")),
        ("Finally, defrag the disk. Then defrag the other one.", ("defrag the disk", "defrag the other one")),
    ],
)
def test_several_wishes_are_told_apart(request_text: str, parts: tuple[str, ...]) -> None:
    assert split_parts(request_text) == parts


@pytest.mark.parametrize(
    ("request_text", "parts"),
    [
        ("book a flight to Rome and a hotel", ("book a flight to Rome", "book a hotel")),
        ("the weather in Paris and in New York", ("the weather in Paris", "the weather in New York")),
    ],
)
def test_what_a_wish_leaves_out_is_filled_in(request_text: str, parts: tuple[str, ...]) -> None:
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
        "search and replace foo by bar in main.py",
        "play the film Black and White",
        "the distance between Paris and London",
        "find a recipe with a banana and a mango",
        "run `git pull; then make the docs` in the repo",
        "fetch https://example.com/a?b=1;and=2 and-then-some",
        "an app that can take photos and share them",
        "create and send an invoice",
        "How tall is Mr. Smith? Mr. Smith (find him; call him) lives in the U.S. Capitol",
    ],
)
def test_one_wish_stays_whole(request_text: str) -> None:
    assert split_parts(request_text) == (request_text,)


def test_details_belong_to_the_wish_before_them() -> None:
    text = (
        "Retrieve the delivery time. The tracking number is TRK-5. It ships to Paris. "
        "Then cancel the order. Its id is 7."
    )
    assert split_parts(text) == (
        "Retrieve the delivery time. The tracking number is TRK-5. It ships to Paris",
        "cancel the order. Its id is 7",
    )


def test_what_stands_before_the_first_wish_belongs_to_it_unless_it_says_nothing() -> None:
    assert split_parts("My server is node-7. Check the disk. Then restart the node.")[0] == (
        "My server is node-7. Check the disk"
    )
    assert split_parts("I need help with a few things: check the disk, then restart the node")[0] == "check the disk"


def test_a_need_and_the_request_that_follows_from_it_are_one_wish() -> None:
    text = "I'm looking for a hotel in Rome. Can you find one near the river?"
    assert split_parts(text) == (text,)
    assert len(split_parts("I'm looking for a hotel in Rome. Also, can you check the weather?")) == 2


@pytest.mark.parametrize(
    ("request_text", "needs"),
    [
        ("find the log and mail it to Ann", [(), (0,)]),
        ("find the log; mail the result to Ann", [(), (0,)]),
        ("find flights and hotels and then book a table", [(), (0,)]),
        ("Check the node. If it is down, restart the node.", [(), (0,)]),
        ("Find the log. Once that is done, restart the node. Also, book a table.", [(), (0,), ()]),
        ("check the disk, restart the node and mail Ann", [(), (), ()]),
        ("What's the weather in Paris? And find me a hotel", [(), ()]),
        ("先查看日志，再重启数据库", [(), (0,)]),
        ("查询明天的天气，把结果发邮件给张三；打开车库门", [(), ()]),
    ],
)
def test_a_wish_needs_the_one_that_it_follows_or_points_back_to(
    request_text: str, needs: list[tuple[int, ...]]
) -> None:
    assert [wish.needs for wish in split(request_text)] == needs


def test_quotation_marks_around_everything_hide_nothing() -> None:
    assert split_parts('"Open the door. Then close the window."') == ("Open the door", "close the window")


def test_a_document_is_not_split() -> None:
    text = "find this; " * 5_000
    assert split_parts(text) == (text.strip(),)


@pytest.mark.parametrize(
    "piece",
    [
        *("a and b ", "find the x, ", "I need to ", "请", "x'", "(", "a.b@", "and then ", "the result ", "if "),
        "也 ",
        ", ",
    ],
)
def test_hostile_texts_are_split_in_a_moment(piece: str) -> None:
    text = (piece * MAX_LENGTH)[:MAX_LENGTH]
    started = time.process_time()
    split(text)
    assert time.process_time() - started < 2.0, "patterns that go over everything again and again take minutes here"


@given(st.text(max_size=300))
def test_there_is_always_a_part_and_never_too_many(text: str) -> None:
    wishes = split(text)
    assert 1 <= len(wishes) <= MAX_PARTS
    parts = tuple(wish.text for wish in wishes)
    assert parts == (text.strip(),) or all(parts)
    assert all(need < place for place, wish in enumerate(wishes) for need in wish.needs)
