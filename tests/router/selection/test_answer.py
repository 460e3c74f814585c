"""Reading a model's text, with the slips that models make."""

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolpath.catalog.arguments import validate_arguments
from toolpath.router.selection.answer import MAX_CALLS, AnswerError, answer_schema, read_answer

GOOD: dict[str, Any] = {
    "reason": "why",
    "none_fits": False,
    "calls": [{"id": "c1", "tool": "t", "arguments": {"n": 1}, "depends_on": []}],
}


@pytest.mark.parametrize(
    "wrap",
    ["{}", "Sure! {}", "```json\n{}\n```", "<think>maybe [1] or {{x}}</think>\n{}", "{}\nHope that helps {{}}", "[{}]"],
)
def test_the_object_is_found_in_other_text(wrap: str) -> None:
    answer = read_answer(
        wrap.replace("{{", "\0")
        .replace("}}", "\1")
        .replace("{}", json.dumps(GOOD), 1)
        .replace("\0", "{")
        .replace("\1", "}")
    )
    assert answer.calls[0].tool == "t" and answer.calls[0].arguments == {"n": 1} and answer.reason == "why"


def test_calls_in_other_shapes_are_understood() -> None:
    one = '{"name": "t", "arguments": {"n": 1}}'
    assert [call.arguments for call in read_answer(one).calls] == [{"n": 1}]
    assert len(read_answer(f"{one}\n{one}").calls) == 2 == len(read_answer(f"[{one}, {one}]").calls)
    assert read_answer('{"tool": "t", "arguments": "{\\"n\\": 2}"}').calls[0].arguments == {"n": 2}
    assert read_answer(f"<tool_call>{one}</tool_call>").calls[0].tool == "t"


def test_none_fits() -> None:
    answer = read_answer('{"reason": "nothing does that", "none_fits": true, "calls": []}')
    assert answer.none_fits and answer.calls == ()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not the JSON object"),
        ("I would call t with n=1.", "not the JSON object"),
        ('{"a": 1}', "not the JSON object"),
        ('{"calls": [{"tool": 5}]}', "calls.0.tool"),
        ('{"calls": [{"tool": "t", "arguments": [1]}]}', "calls.0.arguments"),
        ('{"none_fits": true, "calls": [{"tool": "t"}]}', "one of the two is wrong"),
        ('{"none_fits": false, "calls": []}', "one of the two is wrong"),
        ('{"name": "t", "arguments": "{n"}', "are not JSON"),
        (json.dumps({"calls": [{"tool": "t"}] * (MAX_CALLS + 1)}), "too many"),
    ],
)
def test_what_is_no_answer_says_why(text: str, says: str) -> None:
    with pytest.raises(AnswerError, match=says):
        read_answer(text)


@given(st.text(alphabet='{}[]",:ab1 \n', max_size=80))
def test_any_text_is_an_answer_or_an_answer_error(text: str) -> None:
    try:
        read_answer(text)
    except AnswerError:
        return


@pytest.mark.parametrize("piece", ["{", "[", '{"a":', "{}", '"'])
def test_a_long_hostile_text_takes_no_time(piece: str) -> None:
    started = time.perf_counter()
    with pytest.raises(AnswerError):
        read_answer(piece * 100_000)
    assert time.perf_counter() - started < 10


def test_the_schema_takes_the_names_as_an_enum_and_any_arguments() -> None:
    schema = answer_schema(["t", "查询"])
    assert validate_arguments(schema, GOOD) == GOOD
    call = schema["properties"]["calls"]["items"]["properties"]
    assert call["tool"]["enum"] == ["t", "查询"] and call["arguments"]["additionalProperties"] is True
