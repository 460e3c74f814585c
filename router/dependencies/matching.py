"""How well a property of one tool's result fits a required parameter of another: one pure rule, with its table."""

from __future__ import annotations

from .fields import Gift, Need, types_fit
from .words import FINDERS, MAKERS, Key, Naming, is_reference, is_specific

SAME_NAME = 0.8
SAME_IN_CONTEXT = 0.75
ENDING = 0.6
"""Scores of the rows in `match`. They are an order by plausibility, not fitted: no public set has both typed results
and labelled dependencies to fit them on."""
IN_A_LIST = 0.05
OTHER_SERVER = 0.3
FOUND_BY = 0.1
SAME_FORM = 0.05
"""What is added or taken off, see `match`."""
IMPLIED = 0.5
MIN_SCORE = 0.5
"""What scores less is no edge."""


def match(need: Need, gift: Gift, consumer: Naming, producer: Naming) -> float:
    """How well `gift` fits `need`, 0 to 1; 0: not at all.

    | the names                                                        | score |
    | equal, and not common (``user_id`` = ``user_id``)                | 0.80  |
    | equal in context (``user_id`` = ``users[].id``, ``get_user.id``) | 0.75  |
    | the parameter's ends in the other, of two words (``origin_sky_id``, ``sky_id``) | 0.60 |
    | else                                                             | 0     |

    Types that exclude each other, or two different formats, give 0. An equal format adds 0.05. A value in a list
    takes 0.05 off (somebody must choose). A reference from another server takes 0.3 off: its ids mean other things.
    A tool that finds or makes the very thing that is asked for adds 0.1.
    """
    if not types_fit(need.types, gift.types) or (need.form and gift.form and need.form != gift.form):
        return 0.0
    score = _names(need.key, gift)
    if not score:
        return 0.0
    if need.form and need.form == gift.form:
        score += SAME_FORM
    if gift.listed:
        score -= IN_A_LIST
    if is_reference(need.key):
        if consumer.server != producer.server:
            score -= OTHER_SERVER
        if leads_to(need.key[:-1], producer):
            score += FOUND_BY
    return min(score, 1.0)


def _names(key: Key, gift: Gift) -> float:
    if key == gift.key:
        return SAME_NAME if is_specific(key) else 0.0
    if key in gift.keys:
        return SAME_IN_CONTEXT if is_specific(key) else 0.0
    ends = any(len(other) > 1 and key[-len(other) :] == other and is_reference(other) for other in gift.keys)
    return ENDING if ends else 0.0


def leads_to(thing: Key, producer: Naming) -> bool:
    """Whether the producer, by its name, finds or makes just this thing: ``search_users`` and a user."""
    return bool(producer.verbs & (FINDERS | MAKERS)) and producer.thing == thing
