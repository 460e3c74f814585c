"""Abbreviations that programmers use in the names of tools and parameters, and the words that users say for them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_SPELLED = """
    acct:account addr:address amt:amount appt:appointment approx:approximate arg:argument args:arguments
    attr:attribute attrs:attributes auth:authentication avg:average bool:boolean btn:button calc:calculate
    cert:certificate certs:certificates cfg:configuration char:character chars:characters cmd:command cmds:commands
    cnt:count config:configuration configs:configurations ctx:context db:database dbs:databases dept:department
    dest:destination doc:document docs:documents elem:element elems:elements
    env:environment envs:environments eval:evaluate exec:execute fn:function freq:frequency func:function
    funcs:functions govt:government hrs:hours idx:index img:image imgs:images init:initialize
    int:integer intl:international k8s:kubernetes lang:language langs:languages lat:latitude lib:library
    libs:libraries lng:longitude loc:location lon:longitude max:maximum mem:memory mgmt:management mgr:manager
    mins:minutes msg:message msgs:messages notif:notification notifs:notifications num:number nums:numbers
    obj:object objs:objects org:organization orgs:organizations orig:original param:parameter params:parameters
    passwd:password pct:percent perms:permissions pic:picture pics:pictures pkg:package pkgs:packages prefs:preferences
    prev:previous qty:quantity repo:repository repos:repositories req:request resp:response sched:schedule
    secs:seconds spec:specification specs:specifications src:source stats:statistics str:string subj:subject
    svc:service sys:system tbl:table tmp:temporary txn:transaction txns:transactions univ:university usr:user
    val:value vals:values yr:year yrs:years
"""

ABBREVIATIONS: Mapping[str, str] = MappingProxyType(dict(pair.split(":") for pair in _SPELLED.split()))
"""Short to long form, both casefolded, one word each.

Only short forms that mean one thing in identifiers. Left out on purpose, for what they would do to a request or to
another tool: temp (temperature, temporary), min (minimum, minute), hr (hour, human resources), res, desc, exp, est,
dev, prod, pos, rel, rec, var, col, conf, curr, del (also Spanish), pwd (also a shell command), dst, tx, pr, sec.
"""


def spelled_out(word: str) -> str:
    """The long form of an abbreviation; any other word unchanged.

    Example:
        >>> spelled_out("cfg"), spelled_out("Repo"), spelled_out("refund")
        ('configuration', 'repository', 'refund')
    """
    return ABBREVIATIONS.get(word.casefold(), word)
