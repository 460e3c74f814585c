"""Abbreviations of programmers' identifiers and the words that they stand for.

Only those with one meaning in practice: ``res``, ``ts`` or ``min`` mean too many things, and ``id``, ``url`` or ``sms``
are what people themselves say. The requests' side is brought to the same words, so that both meet whoever shortens.
"""

from __future__ import annotations

from types import MappingProxyType

_EXPANSIONS = """
    acct account; accts accounts; addr address; addrs addresses; admin administrator; amt amount; amts amounts; app
    application; apps applications; appt appointment; approx approximate; args arguments; arg argument; async
    asynchronous; attr attribute; attrs attributes; auth authentication; avg average; calc calculate; cert
    certificate; certs certificates; cfg configuration; cmd command; cmds commands; conf configuration; config
    configuration; configs configurations; coord coordinate; coords coordinates; db database; dbs databases; dept
    department; depts departments; desc description; dest destination; dict dictionary; dir directory; dirs
    directories; doc document; docs documents; dst destination; env environment; envs environments; exec execute;
    freq frequency; func function; funcs functions; geo geographic; i18n internationalization; idx index; img image;
    imgs images; info information; init initialize; k8s kubernetes; lang language; langs languages; len length; lib
    library; libs libraries; lng longitude; max maximum; mgmt management; mgr manager; misc miscellaneous; msg
    message; msgs messages; nav navigation; num number; nums numbers; obj object; objs objects; org organization;
    orgs organizations; param parameter; params parameters; perms permissions; pkg package; pkgs packages; pref
    preference; prefs preferences; prev previous; prod production; pwd password; qty quantity; rand random; recv
    receive; ref reference; refs references; repo repository; repos repositories; req request; reqs requests; resp
    response; sched schedule; src source; stat statistic; stats statistics; svc service; svcs services; sync
    synchronize; sys system; tmp temporary; txn transaction; txns transactions; usr user; val value; vals values;
    var variable; vars variables; ver version
"""

EXPANSIONS = MappingProxyType(
    {pair.split()[0]: pair.split()[1] for pair in " ".join(_EXPANSIONS.split()).split(";") if pair.strip()}
)
"""Casefolded abbreviation to the word."""


def expanded(words: str) -> str:
    """`words`, separated by spaces, with every abbreviation among them written out.

    Example:
        >>> expanded("get repo config")
        'get repository configuration'
    """
    return " ".join(EXPANSIONS.get(word.casefold(), word) for word in words.split(" "))
