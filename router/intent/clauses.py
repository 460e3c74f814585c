"""The words by which a clause shows what it is: a wish of its own, a detail of the one before, a step after another.

Patterns over text in which quotations, addresses, numbers and the like are blotted out already (see `parts`).
English and Chinese; in other languages only list items, semicolons and question marks part wishes.
"""

from __future__ import annotations

import re

_VERBS = (
    "activate add adjust administer advise allocate analyse analyze announce answer apply approve archive arrange"
    " assess assign attach audit authenticate author authorise authorize backup block book brew broadcast build"
    " buy calculate calibrate call cancel change charge check choose classify clean clear clone close collect"
    " combine commit compare compile complete compose compress compute conduct configure confirm connect construct"
    " contact control convert cook copy count create customise customize cut debug decode decrypt define delete"
    " deliver deploy deposit describe design detect determine develop diagnose dim disable discover dispatch"
    " display divide donate download draft draw drop edit email enable encode encrypt enroll enter erase estimate"
    " evaluate examine execute explain explore export extract fetch figure file filter finalize find fix flag"
    " forecast format forward gather generate get give go grab guide handle help hide hire host identify implement"
    " import improve increase inform initiate insert inspect install integrate interpret inventory invest"
    " investigate invite invoke issue join launch learn lend let list load locate lock log look lower mail make"
    " manage map mark measure merge message migrate modify monitor mount move multiply mute navigate notify obtain"
    " offer open optimise optimize order organise organize outline patch pause pay perform pick pin place plan"
    " play plot post predict preheat prepare present preview print process produce program provide publish pull"
    " purchase push put query rank rate read rebalance rebook rebuild recommend record recover redeem reduce"
    " refund regenerate register release relocate remind remove rename render rent reopen reorder replace reply"
    " report request reschedule reserve reset resize resolve respond restart restore resume retrieve return"
    " reverse review revoke rewrite ring rotate route run save scan schedule search see select sell send set setup"
    " share ship show shut sign simulate sketch snooze solve sort spawn specify split start stop store stream"
    " submit subscribe subtract suggest sum summarise summarize switch sync synchronise synchronize tag take tell"
    " terminate test text toggle track train transcribe transfer transform translate trigger turn unblock undo"
    " uninstall unlink unlock unmute unsubscribe update upgrade upload vacuum validate verify view visit wake warn"
    " watch withdraw write"
)
VERB = rf"(?:(?!(?:{'|'.join(('set', 'let'))})\s+(?:of|alone)\b)(?:{'|'.join(_VERBS.split())})(?!-))"
"""An imperative. Without the verbs that only say in which form an answer is wanted ("include", "use", "ensure")."""

_OBJECT = (
    r"(?:up|out|down|off|on|in|back|for|to|about|into|through|over|with)?\s*"
    r"(?:the|a|an|any|all|some|each|every|both|another|one|two|three|my|me|our|us|your|his|her|their|its|it|them|him|this"
    r"|that|these|those|if|whether|what|how|who|where|when|which|why|for|to|about|up|out|of|\d|[\"“'‘#@$€£<({\[]"
    r"|[A-Z]|information|details|data|new|detailed|recent|current|upcoming|available)"
)
"""How an object begins: what tells "and book a hotel" from "and book titles"."""

_OBJECT_START = rf"(?-i:{_OBJECT})"

ASKED = (
    r"(?:please\b|kindly\b|(?:can|could|would|will)\s+you\b|help\s+me\b|(?:i|we)(?:'d|’d|\s+would|\s+also|\s+then"
    r"|\s+really|\s+just)*\s+(?:need|want|like|wish)\b|(?:i|we)(?:'m|’m|\s+am|\s+are)\s+(?:also\s+)?"
    r"(?:looking\s+for|interested\s+in|curious\s+about)|let\s+me\s+know\b|tell\s+me\b|show\s+me\b|give\s+me\b|remind\s+me\b"
    r"|(?:can|could|may)\s+(?:i|we)\s+(?:get|have|see|know)\b|how\s+about\b|what\s+about\b)"
)
"""How people ask, in words that open a wish wherever they stand."""

STATES = re.compile(
    r"(?:i|we)(?:'d|’d|'m|’m|'ll|’ll|\s+(?:would|also|then|really|just|am|are|will))*\s+(?:need|want|like|wish|looking"
    r"|interested|curious|trying|planning|hoping)\b|我(?:想|要|需要|希望)",
    re.IGNORECASE,
)
ASKS = re.compile(
    r"(?:please|kindly|(?:can|could|would|will)\s+you|help\s+me|请|帮我|能不能|能否|可以帮)", re.IGNORECASE
)

QUESTION = (
    r"(?:(?:what|where|when|who|whom|whose|which|why|how)(?:'s|’s|'re|’re)?\b|(?:is|are|was|were|do|does|did|has|have"
    r"|should|will|would|can|could)\s+(?:there|the|a|an|my|i|we|it|this|that|any|[A-Z0-9]))"
)
"""How a question begins; a sentence is one only when it ends with a question mark, too."""

_ORDINAL = r"(?:first(?:ly)?|second(?:ly)?|third(?:ly)?|fourth(?:ly)?|fifth(?:ly)?|to\s+start(?:\s+with)?|last(?:ly)?)"
_MORE = (
    r"(?:and|but|so|also|too|additionally|moreover|furthermore|besides|plus|likewise|similarly|meanwhile|finally|next"
    r"|in\s+addition(?:\s+to\s+(?:this|that))?|on\s+top\s+of\s+that|at\s+the\s+same\s+time|while\s+you(?:'re|\s+are)\s+at\s+it"
    r"|once\s+(?:more|again)|if\s+possible|ok(?:ay)?|hi|hello|hey(?:\s+there)?|great|thanks|sure|yes|now)"
)
AFTER = (
    r"(?:then|after\s+(?:that|this|which)|afterwards?|thereafter|subsequently|once\s+(?:that|this|it)(?:'s|\s+is|\s+has)?"
    r"(?:\s+been)?\s+(?:done|finished|complete[d]?)|when\s+(?:that|this|it)(?:'s|\s+is)\s+(?:done|finished)"
    r"|(?:based\s+on|using|with)\s+(?:that|this|these|those|the\s+results?)(?:\s+(?:information|results?|data))?)"
)
"""Words that put a step behind the one before it."""

LEAD = re.compile(rf"(?:(?:{AFTER}|{_ORDINAL}|{_MORE})\b[\s,:!.]*){{1,6}}", re.IGNORECASE)
"""What opens a clause without being part of what it wants."""

COMES_AFTER = re.compile(rf"\b{AFTER}\b|然后|接着|接下来|随后|之后|(?:^|[，,。\s])再", re.IGNORECASE)

SENTENCE_END = re.compile(
    r"(?<!\b[A-Za-z])[.!?]+[\"'”’)\]]*\s+|[。！？]+[”」』]?\s*|[;；]\s*|\n\s*\n\s*|\n\s*(?=[A-Z\u4e00-\u9fff])"
)

CONDITION = re.compile(r"(?:if|once|when|after|before|for|in|on|at|to|since|as)\b[^,]{3,120},\s+", re.IGNORECASE)
"""A clause in front of the wish: "If it is available, reserve it"."""

WISH = re.compile(rf"(?:{ASKED}|{VERB}\s+\S)", re.IGNORECASE)
LED_WISH = re.compile(
    r"(?!(?:it|he|she|we|they|you|i|this|that|there|these|those|the|a|an|my|our|your|its|is|are|was|were|for|in|on|at|with"
    r"|as|of|from|to|if|when|be|has|have|had|some|any|all|not|no)\b)[a-z]{3,}\s+"
    r"(?:the|a|an|my|our|this|that|these|those|all|any|every|each|me|us|it|them|for)\b"
)
"""An imperative whose verb is in no list; behind "then" or "finally" an unknown word with an object is one."""
IS_QUESTION = re.compile(QUESTION, re.IGNORECASE)

_JOINT = (
    rf"(?:\s*,?\s+(?:and|but|plus)(?:\s+(?:{AFTER}|{_MORE}|please|kindly)\b,?){{0,3}}"
    rf"|\s*,(?:\s+(?:{AFTER}|{_MORE}|please)\b,?){{0,3}}|\s+then\b,?|\s*:)\s+"
)
CLAUSE = re.compile(rf"{_JOINT}(?=(?:{ASKED}|{VERB}\s+{_OBJECT_START}))", re.IGNORECASE)
"""Between two clauses that each have a verb and an object of their own."""

AND_THEN = re.compile(r"[,.]?\s+and\s+then\s+", re.IGNORECASE)
"""Between two steps, whatever they are."""

QUESTIONS = re.compile(
    r"\s*,?\s+(?:and|but)(?:\s+also)?\s+(?=(?:what|where|when|who|which|why|how)(?:'s|’s|\s+(?:is|are|was|were|do|does|did"
    r"|will|can|much|many|long|far|old|big))\b)",
    re.IGNORECASE,
)
"""Between two questions of one sentence."""

INNER = re.compile(
    r"\b(?:which|who|that\s+(?:can|will|would|lets?|allows?|helps?|has|have|is|are|was|were)|so\s+(?:that|i|we)|in\s+order\s+to"
    r"|how\s+to|(?:lets?|allows?|enables?)\s+\w+\s+(?:to\s+)?|used\s+to|able\s+to|ways?\s+to)\b",
    re.IGNORECASE,
)
"""Opens a clause inside the object: the verbs behind an "and" there belong to it ("an app that can take and share")."""

REFERS_BACK = re.compile(
    r"\b(?:it|them|those|these|they|him|her)\b(?!\s+(?:is|are|was|will|rains?|snows?))(?<!if\sit)(?<!is\sit)(?<!does\sit)"
    r"|\b(?:this|that|these|those|the\s+same|the\s+(?:previous|above|resulting|obtained|returned|retrieved|found))\s+"
    r"(?!time|day|week|month|year|morning|evening|weekend)\w+"
    r"|\b(?:with|to|of|about|for|from|in|on|do|use|using|send|share|mail|email|save)\s+(?:this|that)\b"
    r"|\b(?:the|its|their)\s+(?:results?|outputs?|findings|answer)\b|\bobtained\b"
    r"|[把将给用对]?(?:它|其|结果|该|上述|这个|那个|这些|那些)",
    re.IGNORECASE,
)
"""Points at something that an earlier clause finds or makes."""

HOLLOW = re.compile(
    r"(?:(?:please|can|could|would|will|you|i|we|need|want|like|to|would|help|assist|me|us|do|does|get|find|fetch|gather|look"
    r"|check|provide|give|show|tell|solve|calculate|know|use|using|the|this|that|these|those|it|them|all|both|for|with|up"
    r"|out|of|in|on|and|a|an|few|some|several|couple|two|three|four|many|things?|tasks?|questions?|requests?|problems?"
    r"|following|information|info|details|data|help|assistance|your|my|please|also|just|really|specific|different|about"
    r"|i'd|i'm|have|need|am|looking|separate|items?|areas?|topics?|task|kindly|how|what|is|possible|today|now|some|more)"
    r"[\s,.:!?]*)+",
    re.IGNORECASE,
)
"""A clause of such words alone asks for nothing in particular: "I need help with a few things", "look that up"."""

DETAIL = re.compile(
    r"(?:(?:please|also|can\s+you|could\s+you|i\s+(?:also\s+)?(?:need|want|would\s+like)(?:\s+to\s+(?:know|see|have))?)\s+)*"
    r"(?:(?:provide|give|show|tell|return|list|display|get|print)\s+)?(?:(?:me|us)\s+)?(?:with\s+)?"
    r"(?:(?:(?:its|their|his|her|the\s+(?:results?|outputs?|findings|answers?|response)|one|details))\b"
    r"|(?:return|set|make|let|sort|order|format|limit|specify)\s+(?:it|them|sure|the\s+results?|by|in|to)\b)",
    re.IGNORECASE,
)
"""Says of which kind the answer shall be, and wants nothing new: "give me their names"."""

_ZH_OPENERS = (
    "请|帮我|帮忙|麻烦|我想|我要|我需要|我希望|能不能|能否|可以帮|可否|告诉我|给我|让我"
    "|查询|查找|查看|查一下|查查|查|搜索|搜一下|找一下|找|预订|预定|预约|订购|订一|订|购买|买|发送|发邮件|发|写一|写|创建|新建|生成|制作|计算|算一下"
    "|翻译|打开|开启|关闭|启动|停止|设置|设定|提醒|播放|下载|上传|删除|更新|修改|列出|获取|推荐|分析|比较|对比|重启|通知|转发|转换|转账|取消"
    "|添加|导出|导入|安排|评估|检测|检查|监控|提交|申请|支付|总结|整理|统计|预测|识别|绘制|画一|记录|保存|验证|确认|规划"
)
ZH_WISH = re.compile(rf"(?:{_ZH_OPENERS})")
ZH_LEAD = re.compile(
    r"(?:(?:首先|其次|另外|此外|然后|接着|接下来|随后|最后|并且|并|同时|再|也|还|还有|以及|顺便|先|之后|而且)[，,]?\s*)+"
)
ZH_CLAUSE = re.compile(
    r"[，,、]?\s*(?:然后|接着|接下来|随后|并且|此外|另外|最后|同时|顺便|之后)[，,再]?\s*"
    rf"|[，,]\s*(?:(?:再|并|也|还|以及|而且)\s*)*(?={_ZH_OPENERS})|[，,]\s*(?:再|并)\s*"
)
ZH_QUESTION = re.compile(r"(?:吗|呢|多少|怎么|怎样|如何|什么|哪|几|谁|是否|有没有)")
