"""A call for each wish: in order, with dependencies, and without losing the others when one finds nothing."""

from collections.abc import Sequence

from toolpath.catalog import Tool
from toolpath.router import Candidate, Intent, Selection
from toolpath.router.records import Wish
from toolpath.router.selection.extract import extract_call
from toolpath.router.selection.several import choose_each

WHOLE = {"type": "integer"}
FIND = Tool(
    name="find_user", description="Finds.", parameters={"properties": {"user_id": WHOLE}, "required": ["user_id"]}
)
DELETE = Tool(
    name="delete_user", description="Deletes.", parameters={"properties": {"user_id": WHOLE}, "required": ["user_id"]}
)
MAIL = Tool(
    name="mail",
    description="Mails.",
    parameters={"properties": {"to": {"type": "string", "format": "email"}, "copies": WHOLE}, "required": ["to"]},
)


def wish(text: str, *tools: Tool, needs: tuple[int, ...] = ()) -> Wish:
    return Wish(text, needs, tuple(Candidate(tool, 5.0 - place) for place, tool in enumerate(tools)))


def first(request: str, candidates: Sequence[Candidate], intent: Intent) -> Selection:
    """Chooses the first candidate; abstains without one."""
    if not candidates:
        return Selection(abstained=True, confidence=1.0, reason="no candidate")
    return Selection(calls=(extract_call(candidates[0].tool, request),), confidence=0.8, reason="it ranks first")


def chosen(request: str, *wishes: Wish, candidates: Sequence[Candidate] = ()) -> Selection:
    return choose_each(first, request, candidates, Intent(parts=tuple(w.text for w in wishes), wishes=wishes))


def test_each_wish_gets_its_call_with_its_own_arguments_in_order() -> None:
    selection = chosen(
        "find user id 7 and delete user id 9",
        wish("find user id 7", FIND, DELETE),
        wish("delete user id 9", DELETE, FIND),
    )
    assert [(call.tool, call.arguments) for call in selection.calls] == [
        ("find_user", {"user_id": 7}),
        ("delete_user", {"user_id": 9}),
    ]
    assert all(call.depends_on == () for call in selection.calls) and not selection.abstained
    assert "2 calls for 2 wishes" in selection.reason


def test_a_wish_waits_for_the_call_it_needs_and_shares_its_value() -> None:
    selection = chosen(
        "find user id 7 and then delete it", wish("find user id 7", FIND), wish("delete it", DELETE, needs=(0,))
    )
    find, delete = selection.calls
    assert delete.depends_on == (find.call_id,)
    assert delete.arguments == {"user_id": 7} and delete.missing == (), "it is the same user"


def test_a_value_that_belongs_to_another_wish_is_not_taken() -> None:
    selection = chosen(
        "find user id 7 and delete someone", wish("find user id 7", FIND), wish("delete someone", DELETE)
    )
    assert selection.calls[1].arguments == {} and selection.calls[1].missing == ("user_id",)


def test_what_stands_before_the_wishes_fills_what_is_missing() -> None:
    selection = chosen(
        "ann@example.com waits. Find user id 7. Mail her", wish("Find user id 7", FIND), wish("Mail her", MAIL)
    )
    assert selection.calls[1].arguments == {"to": "ann@example.com"} and selection.calls[1].missing == ()


def test_a_wish_without_a_tool_is_named_and_the_others_go_on() -> None:
    selection = chosen(
        "find user id 7, then sing, then delete it",
        wish("find user id 7", FIND),
        wish("sing", needs=(0,)),
        wish("delete it", DELETE, needs=(1,)),
    )
    assert [call.tool for call in selection.calls] == ["find_user", "delete_user"] and not selection.abstained
    assert selection.notes == ("nothing fits wish 2 (sing): no candidate",)
    assert selection.calls[1].depends_on == (selection.calls[0].call_id,), "order holds across the wish that fell out"


def test_a_wish_with_weak_evidence_is_named_instead_of_called() -> None:
    weak = Wish("in a nice way", (), (Candidate(MAIL, 1.9),))
    selection = chosen("find user id 7 in a nice way", wish("find user id 7", FIND), weak)
    assert [call.tool for call in selection.calls] == ["find_user"]
    assert selection.notes == ("no call for wish 2 (in a nice way): mail scores 1.90, the strongest wish's tool 5.00",)
    named = Wish("mail", (), (Candidate(MAIL, 1.9, {"exact": 1.0}),))
    assert len(chosen("find user id 7, mail", wish("find user id 7", FIND), named).calls) == 2


def test_wishes_that_say_more_about_one_call_share_it() -> None:
    selection = chosen(
        "mail ann@example.com. Make copies: 3. Then find user id 7",
        wish("mail ann@example.com", MAIL),
        wish("Make copies: 3", MAIL, needs=(0,)),
        wish("find user id 7", FIND, needs=(1,)),
    )
    mail, find = selection.calls
    assert mail.arguments == {"to": "ann@example.com", "copies": 3} and mail.depends_on == ()
    assert find.depends_on == (mail.call_id,)


def test_one_tool_is_called_twice_for_different_arguments_and_once_for_the_same() -> None:
    twice = chosen("user ids 7 and 9", wish("find user id 7", FIND), wish("find user id 9", FIND))
    assert [call.arguments for call in twice.calls] == [{"user_id": 7}, {"user_id": 9}]
    once = chosen("user id 7, really user id 7", wish("find user id 7", FIND), wish("find user id 7", FIND))
    assert len(once.calls) == 1


def test_a_call_never_waits_for_one_behind_it() -> None:
    """The first call serves wishes 1 and 3; wish 3 needs wish 2, whose call comes behind."""
    selection = chosen(
        "find user id 7, mail a@b.example, find user id 7",
        wish("find user id 7", FIND),
        wish("mail a@b.example", MAIL, needs=(0,)),
        wish("find user id 7", FIND, needs=(1,)),
    )
    find, mail = selection.calls
    assert find.depends_on == () and mail.depends_on == (find.call_id,)


def test_when_no_wish_finds_anything_the_whole_request_is_asked() -> None:
    whole = [Candidate(FIND, 1.0)]
    selection = chosen("sing user id 7 and dance", wish("sing"), wish("dance"), candidates=whole)
    assert selection.calls[0].tool == "find_user" and len(selection.notes) == 2
    nothing = chosen("sing and dance", wish("sing"), wish("dance"))
    assert nothing.abstained and nothing.calls == () and len(nothing.notes) == 2
