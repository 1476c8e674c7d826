"""Phrases that take an answer back, in the languages that models answer in.

    >>> [is_retracted(text) for text in (". Wait, not yet.", ". Espera, no.", "。等等，不对")]
    [True, True, True]
    >>> is_retracted(". Wait for the door."), is_retracted(". No está lejos.")
    (False, False)

A denial alone may answer a question of the thought, so it counts only after an interruption ("wait,
no"), before one ("no, wait"), or right after an option without brackets. Withdrawals ("never mind")
count as sentences of their own. Each row of a table is a language.
"""

from __future__ import annotations

import re

LONGEST = 8_000
"""Maximum characters of an answer, without its reasoning."""

_INTERRUPTIONS = (
    "wait|hold on|hang on|hmm+|actually|sorry|on second thoughts?",
    "espera|espere|un momento|perdón|en realidad|pensándolo bien",
    "warte|warten sie|moment(?: mal)?|halt|stopp|entschuldigung|sorry|ach",
    "attends|attendez|un instant|pardon|en fait|euh",
    "aspetta|un attimo|un momento|scusa|anzi",
    "espera|espere|um momento|desculpe|na verdade|aliás",
    "подожди|подождите|стоп|постой|погоди|извини",
    "зачекай|стривай|стоп",
    "wacht(?: even)?|sorry",
    "czekaj|poczekaj|chwila|przepraszam",
    "bekle|dur|pardon",
    "khoan(?: đã)?|đợi đã|chờ đã",
    "रुको|रुकिए|ठहरो",
    "انتظر|مهلا|لحظة",
    "vänta|stopp|förlåt",
    "počkej|počkat|moment|pardon",
    "așteaptă|stai",
    "tunggu(?: dulu)?",
    "περίμενε|στάσου",
    "odota|hetkinen",
    "várj|várjunk",
    "רגע|חכה",
)
"""Words before a denial."""
_NO = (
    "no|nope|nein|non|não|нет|ні|nee|nie|hayır|không|नहीं|لا|nej|ne|tidak|όχι|ei|nem|לא"
)
_DENIALS = (
    _NO,
    "todavía no|aún no|eso no|(?:eso )?está mal|(?:eso )?no es (?:correcto|así)",
    "noch nicht|doch nicht|nicht|falsch|das (?:ist|war) falsch|das stimmt nicht",
    r"pas encore|c\W?est faux|(?:ce n\W?est|c\W?est) pas (?:ça|correct|bon|juste)",
    "non ancora|è sbagliato|non è (?:corretto|giusto)",
    "ainda não|(?:isso )?está errado|(?:isso )?não está certo",
    "ещ[её] нет|не то|(?:это )?(?:неправильно|неверно|ошибка)",
    "ще ні|(?:це )?неправильно",
    "nog niet|dat klopt niet|dat is fout",
    "jeszcze nie|to (?:jest )?(?:błąd|źle)",
    "henüz değil|(?:bu )?yanlış",
    "chưa|không phải|sai rồi",
    "अभी नहीं|गलत",
    "ليس بعد|(?:هذا )?خطأ",
    "inte än|det är fel",
    "ještě ne|to je špatně",
    "nu încă",
    "belum|itu salah",
    "όχι ακόμ[αη]",
    "ei vielä",
    "még nem",
    "עדיין לא",
)
"""Denials, each a whole clause: ``no es correcto`` is one, ``no está lejos`` is not."""
_WITHDRAWALS = (
    r"oops|never ?mind|(?:scratch|strike|cancel|forget|ignore|disregard|undo|don\W?t do) that"
    r"|my mistake|i (?:was wrong|made a mistake)|i take (?:that|it) back|no\W{1,4}don\W?t"
    r"|(?:let me|i (?:need to|should|must)) (?:reconsider|rethink)(?: (?:this|that|it))?",
    "olvídalo|mejor no|cancela eso|me equivoqué|me he equivocado",
    "vergiss (?:das|es)|doch nicht|lieber nicht|ich habe mich geirrt|mein fehler",
    "oubli(?:e|ez|ons) ça|finalement non|plutôt pas|je me suis trompée?",
    "lascia perdere|meglio di no|mi sono sbagliat[oa]|come non detto",
    "deixa (?:pra|para) lá|melhor não|esqueça(?: isso)?|me enganei",
    "отмена|хотя нет|забудь|я ошиб(?:ся|лась)|не надо",
    "laat maar|toch niet|vergeet dat|ik vergiste me",
    "nieważne|jednak nie|pomylił(?:am|em) się",
    "vazgeçtim|boş ver",
)
"""Sentences that need no interruption."""
# Languages without blanks: a word has no boundary.
_SIGNS_INTERRUPT = (
    "(?:等等|等一下|等下|稍等|等会儿?|慢着|抱歉|不对|不對|不[，, ]{0,2}等等"
    "|(?:ちょっと)?待って(?:ください)?|いや|いいえ|すみません|잠깐(?:만요?)?|아니|เดี๋ยวก่อน|เดี๋ยว|รอก่อน)"
)
_SIGNS_NO = "不|不对|不對|いいえ|違う|違います|아니요?|아니야|ไม่|ไม่ใช่"
_SIGNS_DENY = (
    f"(?:{_SIGNS_NO}|(?:我)?还(?:没到|没有?|不行|不到)|(?:这个?)?(?:不对|不是|错了?)|不(?:行|应该)(?:这样)?"
    "|まだ(?:だ|です)?|間違い(?:だ|です)?|だめ(?:だ|です)?|아직|틀렸어요?|틀렸습니다|ยังไม่)"
)
_SIGNS_WITHDRAW = (
    "(?:(?:还是)?算了|(?:我)?[错搞弄]错了|我错了|取消|让我重新考虑(?:一下)?"
    "|やっぱり(?:やめる|やめます|なし)|間違え(?:た|ました)|取り消し(?:ます)?|취소(?:합니다)?)"
)

_START = r"(?:^|[.!?…\n,;:(。！？，、；—–-])\W{0,4}"
_END = r"(?=\W*(?:$|[.,;:!?…\n。！？，；—–-]))"
_interrupted = (
    rf"(?:(?:{'|'.join(_INTERRUPTIONS)})(?!\w)\W{{1,4}}|{_SIGNS_INTERRUPT}\W{{0,4}})+"
)
_denied = rf"(?:{'|'.join(_DENIALS)}|{_SIGNS_DENY}){_END}"
_withdrawn = rf"(?:{'|'.join(_WITHDRAWALS)}|{_SIGNS_WITHDRAW}){_END}"
_WAIT_WHAT = (
    r"(?:i['’]?m not (?:there|done|at)\b|not (?:yet|that|this|there|done|so fast)\b"
    r"|i (?:should|must)(?:n['’]?t| not)\b"
    r"|i can(?:['’]?t|not| not) (?:go|do|move|turn|stop|take|reach)\b"
    r"|(?:that|this|it)(?:['’]?s| is) (?:not (?:right|correct|it\b)|wrong|incorrect|a mistake))"
)
"""English denials that more words may follow: ``wait, I can't go there``."""
_ROMANIAN_NO = rf"nu{_END}"
"""Only after an interruption, as in Swedish and Dutch it is "now": ``stop nu``."""
_RETRACTED = re.compile(
    rf"{_START}(?:{_interrupted}(?:{_denied}|{_WAIT_WHAT}|{_ROMANIAN_NO}|[错不](?!远|用|到))"
    rf"|(?:{_NO}|{_SIGNS_NO})\W{{1,4}}(?:{'|'.join(_INTERRUPTIONS)}|{_SIGNS_INTERRUPT}){_END}"
    rf"|{_withdrawn}|(?:等等|等一下|不对|不對)\W{{0,4}}\Z)",
    re.I,
)
_BEGINS_DENIED = re.compile(rf"\W*{_denied}", re.I)
_ONLY_NO = re.compile(rf"\W*(?:{_NO}|{_SIGNS_NO})\W*", re.I)


def is_retracted(text: str) -> bool:
    """True if the text after an option takes it back: ``stop. Wait, not yet.``"""
    return _RETRACTED.search(text[:LONGEST]) is not None


def begins_denied(text: str) -> bool:
    """True if the first clause of a text is a denial alone."""
    return _BEGINS_DENIED.match(text[:LONGEST]) is not None


def is_no(text: str) -> bool:
    """True if a text is the word "no"."""
    return _ONLY_NO.fullmatch(text[:LONGEST]) is not None
