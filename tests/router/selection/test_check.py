"""Holding an answer against the tools."""

from typing import Any

from toolpath.catalog import ArgumentOrigin
from toolpath.router.selection.answer import Answer, AnsweredCall
from toolpath.router.selection.check import Checked, check_answer

from tests.router.support import small_tools


def check(*calls: tuple[str, str, dict[str, Any], tuple[str, ...]]) -> Checked:
    answered = (AnsweredCall(id=i, tool=t, arguments=a, depends_on=d) for i, t, a, d in calls)
    return check_answer(Answer(calls=tuple(answered)), small_tools())


def test_a_good_call_comes_through_with_its_origin() -> None:
    checked = check(("c1", "mail.send", {"to": "ann@example.com", "subject": "Hi"}, ()))
    assert not checked.problems and checked.calls[0].origin is ArgumentOrigin.MODEL
    assert checked.calls[0].arguments == {"to": "ann@example.com", "subject": "Hi"} and not checked.calls[0].missing


def test_an_absent_required_argument_is_missing_and_no_problem() -> None:
    checked = check(("c1", "mail.send", {"subject": "Hi"}, ()))
    assert not checked.problems and checked.calls[0].missing == ("to",)


def test_a_wrong_argument_is_named_and_left_out() -> None:
    checked = check(("c1", "mail.send", {"to": "nobody", "subject": "Hi", "extra": 1}, ()))
    assert "c1.to" in checked.problems
    assert checked.calls[0].arguments.get("subject") == "Hi" and checked.calls[0].missing == ("to",)


def test_safe_conversions_are_made() -> None:
    checked = check(("c1", "weather.forecast", {"city": "Oslo", "days": "3"}, ()))
    assert not checked.problems and checked.calls[0].arguments == {"city": "Oslo", "days": 3}


def test_a_conversion_does_not_wait_for_absent_or_referring_arguments() -> None:
    checked = check(
        ("c1", "contacts.find_person", {"name": "Ann"}, ()),
        ("c2", "weather.forecast", {"days": "3", "city": {"$from": "c1", "path": "phone"}}, ()),
        ("c3", "weather.forecast", {"days": "4"}, ()),
    )
    assert checked.calls[1].arguments["days"] == 3 and checked.calls[2].arguments == {"days": 4}


def test_invented_tools_are_told_with_near_names() -> None:
    checked = check(("c1", "mail.sent", {}, ()), ("c2", "disk.usage", {}, ("c1",)))
    assert checked.invented == ("mail.sent",)
    assert "did you mean 'mail.send'" in checked.problems["c1.tool"]
    assert [call.tool for call in checked.calls] == ["disk.usage"] and checked.calls[0].depends_on == ()


def test_references_become_dependencies_with_fresh_ids() -> None:
    checked = check(
        ("c2", "mail.send", {"to": {"$from": "c1", "path": "email"}}, ()),
        ("c1", "contacts.find_person", {"name": "Ann"}, ()),
    )
    find, send = checked.calls
    assert not checked.problems and (find.tool, send.tool) == ("contacts.find_person", "mail.send")
    assert send.arguments["to"]["$from"] == find.call_id and send.depends_on == (find.call_id,)
    assert find.call_id.startswith("call_") and send.missing == ()


def test_references_that_lead_nowhere_are_problems() -> None:
    checked = check(
        ("c1", "mail.send", {"to": {"$from": "c1"}}, ()),
        ("c2", "mail.send", {"to": {"$from": "c9"}}, ()),
        ("c3", "contacts.find_person", {"name": "A"}, ()),
        ("c4", "mail.send", {"to": {"$from": "c3", "path": "e_mail"}}, ("c8",)),
    )
    assert "own result" in checked.problems["c1.to"]
    assert "'c9'" in checked.problems["c2.to"]
    assert "it has email, phone" in checked.problems["c4.to"]
    assert "'c8'" in checked.problems["c4.depends_on"]
    assert all(call.depends_on == () for call in checked.calls)


def test_a_circle_is_named_and_its_calls_are_left_out() -> None:
    checked = check(
        ("a", "disk.usage", {}, ("b",)), ("b", "disk.usage", {}, ("a",)), ("c", "weather.forecast", {"city": "x"}, ())
    )
    assert checked.problems["calls"] == "the calls a, b wait for each other"
    assert [call.tool for call in checked.calls] == ["weather.forecast"]


def test_ids_may_be_absent_but_not_doubled() -> None:
    assert not check(("", "disk.usage", {}, ()), ("", "disk.usage", {}, ("c1",))).problems
    checked = check(("x", "disk.usage", {}, ()), ("x", "disk.usage", {}, ()))
    assert "'x' is used twice" in checked.problems["calls[1].id"] and len(checked.calls) == 2


def test_numbers_that_json_has_no_form_for_are_problems() -> None:
    assert check(("c1", "weather.forecast", {"city": "x", "days": float("nan")}, ())).problems
