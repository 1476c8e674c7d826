r"""Match an answer's words with the legal options: one of several names, or one action.

    >>> pick("The coffee table.", ["table", "coffee table", "bed"])
    'coffee table'
    >>> pick("the table or the bed", ["table", "bed"]).kind
    'several_actions'
    >>> from wayword.core.action import STOP, Action, ActionSpace
    >>> legal = Legal(ActionSpace((Action("goto", ("b",)), STOP)))
    >>> [str(legal.read(words)) for words in (" GoTo [ B ] ", 'goto("b") as b is near', "goto b.")]
    ['goto[b]', 'goto[b]', 'goto[b]']
    >>> legal.read("goto[kitchen]").reason
    'goto[kitchen] is not possible here; for example: goto[b]'

The grammar, the same in every world::

    answer  = lead option [tail]      a tail never changes the option: it is thought
    lead    = quotes, a bullet, a number, "Action:", "my choice is"
    option  = call | bare
    call    = verb "[" arguments "]"   also ( ), 【 】; it ends at its bracket
    bare    = verb words | name        it ends at a punctuation mark or a word such as "because"
    tail    = anything, but refused if it begins with another option ("b, then c"); after a bare
              option also with a question mark, a bare "no" (there or on the next line), or a hedge
              ("or", "maybe")

Case, spaces, hyphens, quotes and articles are ignored. Anything else is refused, with a reason that
lists legal options.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeVar

from wayword.agents.retractions import LONGEST, begins_denied, is_no, is_retracted
from wayword.core.action import STOP, Action, ActionSpace, RejectionKind
from wayword.models.parts.written_calls import FLAT_ARGUMENTS

LONGEST_ACTION = 2_000  # maximum characters of an action, including a message
LONGEST_CLAUSE = 500  # characters before a tag in which a negation is looked for
MOST_WORDS = 20  # maximum arguments that words are split into; no action has as many
EXAMPLES = 12  # maximum legal actions named in a refusal
MOST_LINES = 40  # lines of an answer that are searched for a second choice

row = str.split
"""The words of a table's row."""
AROUND = " \t\r\n\u00a0\u200b`'\"*“”‘’「」『』«»‹›„‟‚‛"
"""Quotes, emphasis and white space to strip from a name or an action."""
MARKER = re.compile(
    r"^\s*(?:[-•](?!\d)\s*|[*>+]\s+|[①-⑳]\s*|\(?\d{1,3}\s*[.):、](?!\d)\s*)"
)
"""A bullet or a number at the beginning of a line; ``-1`` is a negative number."""
_ORDER = (*FLAT_ARGUMENTS, "x", "y")
REMARKS = frozenset(
    row("reason reasoning thought explanation confidence description comment")
)
"""Keys next to those of arguments that are none."""

T = TypeVar("T")

# Punctuation of English and Chinese answers alike.
_END_PUNCTUATION = ".,;:!。，；！"
_CLOSING = dict(zip("[({（【［《〈〔｛", "])}）】］》〉〕｝", strict=True))
_WORD = re.compile(r"(?:(?<!\w)-(?=\d))?[^\W_]+")
"""A word, or a number with its sign: ``-1`` is not ``1``."""
_ARTICLE_WORDS = row("the a an my your to toward towards")
_ARTICLES = re.compile(rf"^(?:(?:{'|'.join(_ARTICLE_WORDS)})\s+)+")
_LABELS = (
    r"动作|行动|行動|操作|действие|acción|ação|acao|aktion|handlung|azione|アクション|행동"
    r"|hành động|eylem|الإجراء|कार्य|कार्रवाई|क्रिया|actie|akcja|działanie|akce|дія|tindakan|aksi"
    r"|åtgärd|acțiune|ενέργεια|פעולה|การกระทำ|művelet|toiminto"
    r"|antwort|réponse|respuesta|resposta|risposta|odpowiedź|ответ|відповідь|cevap|trả lời"
    r"|回答|答え|정답|답변|उत्तर|الإجابة|الجواب|คำตอบ"
)
"""Words for "action" and "answer" in the languages that models answer in."""
_LEAD = re.compile(
    r"^(?:\\(?:boxed|text\w*|math\w*)\b|[^\w.,:;!?~)\]}❌✗✘🚫⛔]|_|[a-z]\w{0,19}\.(?=\w{1,40}[(\[])"
    r"|(?:await|[a-z_]\w{0,19}\s?=)\s+(?=\w{1,40}[(\[])"
    r"|(?:(?:the|my|next|best|final) ){0,3}(?:act(?:ion)?|output|response|command|decision|step"
    rf"|{_LABELS})"
    r"(?: is\b\s*[:：]?|\s*[:：】])|(?:(?:the|my|best|final) ){1,2}"
    r"(?:answer|move|choice)(?: is\b\s*[:：]?|\s*[:：])|(?:name|verb|tool|function)\s*:"
    r"|我的选择是|我选择|最终答案\s*[:：])*",
    re.I,
)
"""Text before an action that is not part of it. Only a verb can follow."""
_IN_BRACKETS = re.compile(r"^([\w .-]+)[\]>}](?=\W*$)")
"""A bare action in brackets, of which the lead has the first: ``[stop]``."""
_NAME_LEAD = re.compile(
    r"^(?:(?:\\(?:boxed|text\w*|math\w*)|nr|final|my|the|answer|choice|option|direction|prediction|object|place|action"
    r"|maker(?=\s*:)|viewpoint(?:_?id)?|id|is|go|goto|take|move|turn|head|face|facing|walk|to|towards?|frontier|view|exit|candidate|number)"
    rf"(?![^\W_])|(?:{_LABELS})\s*[:：]"
    r"|[\s:=#*\"'`_{$：]|\\[\[(]|n[°º]|方向|选项|选择|答案是?|我选)+",
    re.I,
)
_NAME_CALL = re.compile(r"\W*(?:action )?[A-Za-z]\w*[\[(]([^\[\]()]*)[\])]", re.I)
_CROSSED = "[❌❎✕-✘☐☒☓🚫⛔👎🙅❓❔🤔🤷]"
"""A pictogram that crosses out or doubts the option next to it."""
_DOUBTED = re.compile(rf"{_CROSSED}|[?？]\W*$")
_SIGN = f"(?!{_CROSSED})[←-⇿☀-➿⬀-⯿🀀-🫿]"
"""Any other pictogram or arrow."""
_HEAD_END = re.compile(
    rf"[,;:!?()#\"`*”」|<\n。，；！？（]|\.(?=\W|$)|\s[-–—/→]|->|{_SIGN}"
    r"|\b(?:because|since|as|is|which|so|here|now|and|then|or)\b",
    re.I,
)
"""The ends that a bare option can have."""
_OR = (
    r"(?:\b(?:or|either|else|otherwise|alternatively|versus|vs|oder|sonst|entweder|ou|sinon|o|sino|oppure"
    r"|или|либо|veya|hoặc|lub|albo|या)\b|或者?|還是|还是|または|又は|もしくは|또는|혹은|أو)"
)
"""Words between two options of which either is meant, in the languages that models answer in."""
_CORRECTED = (
    r"(?:\b(?:actually|wait|no|sorry|correction|scratch that|i mean|rather(?: not)?|instead"
    r"|make that|nein|doch|lieber|besser|stattdessen|moment|warte|ich meine"
    r"|plutôt|attends|attendez|pardon|en fait|je veux dire|non(?=\s*[,.;:!])"
    r"|mejor|más bien|espera|perdón|quiero decir|melhor|aliás|espere|desculpe|não(?=\s*[,.;:!])"
    r"|anzi|piuttosto|meglio|aspetta|volevo dire|нет|лучше|точнее|вернее|стоп|подожди"
    r"|nee|liever|toch|wacht|raczej|lepiej|czekaj|nie(?=\s*[,.;:!])|hayır|daha doğrusu|değil"
    r"|không|đúng hơn|नहीं|बल्कि|بل)(?!\w)"
    r"|不对|不對|等等|等一下|应该是|應該是|改为|改為|改成|我是说|いや|違う|やっぱり|やはり|ではなく|じゃなくて"
    r"|待って|아니[요야]?|말고|잠깐|대신)"
)
"""Words from an option to the one that corrects it, in the languages that models answer in."""
_JOINER = re.compile(
    rf"(?:[\s,;.!/&+|)\]>`'\"*。，；、]|->|{_SIGN}|\d{{1,2}}[.)]\s|[(（](?=\s?{_OR})|{_OR}"
    r"|\b(?:and|then|next|finally|afterwards?|maybe|perhaps|und|dann|et|puis|luego|и|затем)\b"
    rf"|然后|然後|接着|和|そして|그리고|\W{{0,8}}{_CORRECTED}\W{{0,8}})*",
    re.I,
)
"""Text between the options of a list, or from an option to the one that corrects it."""
_CORRECTION = re.compile(rf"^\W{{0,8}}(?:{_CORRECTED}\W{{1,8}})+", re.I)
"""The beginning of a line that corrects the one before it: ``No, wait:``"""
_OR_ARGUMENT = re.compile(rf"[\s,;]*{_OR}\s*[\[(（]", re.I)
"""A second argument of a call: ``rotate[30] or [-30]``."""
_NOT_ONE_NAME = re.compile(
    rf"{_OR}|[/|&?]|\s[-–—]\s|((?<![^\W_])(?:any|all|both|each|every|some|none|neither|nothing|nearest"
    r"|closest|other|another|(?:any|every|some)thing|it|this|that|them|not|unknown|because|since"
    r"|which(?:ever)?|whatever|one of|alle|beide|keine[rsn]?|tous|toutes|aucune?|todos|todas"
    r"|ningun[oa])(?![^\W_]|-)|任[何意]|所有|全部)",
    re.I,
)
"""Signs that the name of an object is two names, or (the group) that of no certain one; listed
names may have them."""
_EXCLUDED = re.compile(r"^\W*(?:not|never)\s+", re.I)
_REPEATED = re.compile(
    r"\W*(?:twice|thrice|(?:two|three|four|five) (?:times|steps)"
    r"|(?:[x×]\s?)?(?:[2-9]|1\d|20)\s?(?:times|steps|x|×)?)[^\w°]*$",
    re.I,
)
"""A count after an action: ``forward * 3``."""
_NUMBERS = """zero zeroth 零 ⓪, one first 一 ①, two second 二 ②, three third 三 ③,
four fourth 四 ④, five fifth 五 ⑤, six sixth 六 ⑥, seven seventh 七 ⑦, eight eighth 八 ⑧,
nine ninth 九 ⑨, ten tenth 十 ⑩"""
_NUMBER_WORDS = {
    word: str(number)
    for number, words in enumerate(_NUMBERS.split(","))
    for word in words.split()
}
_NUMBER = re.compile(
    r"(?:no\.\s*|第\s*)?0*(\d{1,9})(?:\.0+|st|nd|rd|th|\s*[号个個番])?", re.I
)
"""A whole number in the forms of a choice: ``3.0``, ``03``, ``3rd``, ``第3个``; not thousands of
digits, which a model writes that repeats one, and which Python refuses to convert."""
_COUNTED = re.compile(
    r"(?<=st|nd|rd|th) (?:one|exit|option|choice|candidate|direction|view|viewpoint|frontier)$",
    re.I,
)
"""The noun after an ordinal: ``3rd exit``, ``the third one``."""
_POINTS = (
    "n=north e=east s=south w=west ne=northeast se=southeast sw=southwest nw=northwest"
)
_ABBREVIATED = dict(point.split("=") for point in _POINTS.split())
"""Points of the compass by their abbreviations."""
_MEASURED = re.compile(
    r"[-+]?(?<![\d.])\d[\d.]*+\s?(?:[°º%米度]|(?:deg\w*|[ckm]?m|met(?:er|re)s?|ft|feet)\b)",
    re.I,
)
"""An angle, a distance or a percentage, which is no number of an option."""
_FRACTION = re.compile(r"(?<![\w.])\d+\.(?!0+(?![a-z0-9_]))\d+(?![a-z0-9_.])", re.I)
"""A number with decimals, as of a score."""
_CJK = r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3]"
_SCRIPT_CHANGE = re.compile(
    rf"(?<={_CJK})(?=[a-z0-9])"
    rf"|(?<=[a-z0-9])(?={_OR}|[不和吧だ]|[号號番번](?![楼目째])|です|입니다|이다|因为|因為)",
    re.I,
)
"""Where a name stands next to a word of a language that has no blanks: ``选择3``. Most words after
a number say what it counts: ``3米``, ``3个出口``, ``3번째``."""
_GROUPED = re.compile(r"(?<![\d.,])\d+(?:[,'’_\u202f\xa0]\d+)+(?!\d)")
"""Digits around commas or other separators without a blank: ``1,200``, ``1,5``, ``1,2,3``."""
_NEGATION = re.compile(
    r"\b(?:not|never|no|neither|nor|none|cannot|avoid|except|without|don|\w+n t"
    r"|unable|nicht|keine?|niemals|pas|jamais|non|nunca|não|nie|не|нет)\b"
    r"|(?<![特分级差])[不别勿](?![锈错远仅过墅])|避免|ไม่|لا "
)
_HEDGE = re.compile(
    r"\s*(?:&|/(?!/|(?:no_)?think\b))"
    r"|\W*\b(?:or|and|either|instead|rather|unless|maybe|perhaps)\b",
    re.I,
)
_TAKEN_BACK = re.compile(
    r"[\s'\"*`]*[?？]|\W*(?:no|not|never|nope)(?: \w+)?\W*(?:[.,;!\n]|$)",
    re.I,
)
_EXCLUDED_BEFORE = re.compile(
    r"\b(?:refuse|skip(?! ahead| to )|ignore|exclude|eliminate|reject|discard|rules? out)\b"
    r"(?!.*\b(?:and|then) (?:choose|pick|select|take|use|go|head|move|turn|walk|try)\b)"
)
"""Verbs before an option that exclude it, unless another verb chooses it."""
_ALL_BUT = re.compile(r"\b(?:all|any|anything|everything) but\b")
_FAULT = (
    r"(?:wrong|incorrect|invalid|bad|false|blocked|(?:a )?(?:dead[ -]end|trap)"
    r"|(?:miss|beat|fail|hurt|lose)\w*)"
)
_FAULTLESS = rf" (?:(?:to|be|go|get) ){{0,2}}{_FAULT}\b"
"""What makes good of a word that dismisses: ``unlikely to fail``, ``can't go wrong``."""
_NOT_GOOD = (
    r"(?:an option|the (?:right|best|correct) \w+"
    r"|possible|available|allowed|reachable|accessible|valid|legal|right|correct|here|there|useful"
    r"|needed|worth)"
)
_USELESS = (
    r"(?:blocked|wrong|incorrect|false|invalid|impossible|unlikely|unreachable|inaccessible"
    r"|unavailable|eliminated|ruled out|rejected|bad(?: \w+)?|no good|too far"
    r"|out(?= of (?:reach|the question)| (?:because|since|as)\b|\W*$|[.,;:!)])"
    r"|(?:a |the )?(?:dead[ -]end|trap|worst|wrong (?!ones)\w+)|bloqué|falsch"
    rf"|not {_NOT_GOOD})(?!\w|-\w|{_FAULTLESS})"
)
"""Words that say that an option is not the one to choose."""
_IS_USELESS = (
    r"(?:is|are|was|seems?|looks?|would be|ist|est) "
    rf"(?:\w+ly |already |also |still )?{_USELESS}"
)
_REMARK_ENDS = (
    r"(?: (?:path|way|door|place|room|choice|option|answer|move|idea|direction|exit|turn|lead|spot"
    r"|route|area|one|action|step|object|item|away|there|already|earlier|ahead|behind|right now))?"
    r"(?=\W*$|\W*[.,;:!?)）]|\s+(?:[-–—]|(?:to|by|for|from|of|because|since|as|so|and|but|due"
    r"|now|here|in|at|with|again|behind|beyond)\b))"
)
"""The end of a judgement; ``trap door ahead`` is none."""
_CANNOT = r"(?:(?:doesn|can|couldn|won)['’ ]?t\b|cannot)"
_JOINED = re.compile(r"\b(?:and|then|instead|but|so)\W*$")
"""A word after which another clause begins."""
_RATHER_NOT = (
    r"(?:no|nope|nein|non|нет|nee|nie|não|hayır)?\W{0,3}(?:\b(?:rather|better|maybe) not"
    r"|\b(?:doch|lieber|besser)(?: lieber| besser)? nicht|\b(?:plutôt|finalement) pas|\bmejor no"
    r"|\bmelhor não|\bmeglio di no|\bне надо|\btoch (?:maar )?niet|\bjednak nie|\bvazgeç\w*"
    r"|\bnot (?:that|this)(?: one)?|\bnever ?mind|(?:还是)?算了|やめ(?:る|た|ます|よう)?|취소)"
    r"(?=\W*(?:$|[.,;:!?…\n—–-]))"
)
"""What takes back the option before it: ``goto[b]. No, rather not.``"""
_DISMISSED = re.compile(
    rf"\s*(?:{_CROSSED}|不行|不对|不可以|нельзя)|\W{{0,6}}{_RATHER_NOT}"
    r"|\s*(?:(?:を|は)(?:しない|選ばない|使わない|やめ)|(?:では|じゃ)な[いく]"
    r"|(?:을|를)?\s?하지 ?(?:않|마)|değil\b|नहीं)"
    rf"|\s*(?::|->|→|\s[-–—]|[(（])\s*{_USELESS}{_REMARK_ENDS}"
    rf"|\W{{0,4}}\b(?:{_IS_USELESS}|(?:isn|wasn)['’ ]?t {_NOT_GOOD}\b"
    rf"|{_CANNOT}(?!{_FAULTLESS}| be better| (?:lead|go) back)"
    rf"|no longer(?! {_FAULT})|leads nowhere|fail(?:s|ed)\b|(?:should|must) be avoided)"
    r"|\s*(?:isn|wasn)['’ ]?t\b",
    re.I,
)
"""Words after an option, or a sign, that dismiss it."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n")
_CLAUSE = re.compile(
    r"[,.;:!?\n，。；：！？]|\b(?:(?<!thing )(?<!all )but|because|since|so)\b"
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Reason why words are not a legal option; ``kind`` is that of a ``Rejection``."""

    kind: RejectionKind
    reason: str


def strip_marker(line: str) -> str:
    """Return a line without its bullet or number."""
    return MARKER.sub("", line).strip()


def normalize(text: str) -> str:
    """Return words in lower case, without punctuation and leading articles."""
    return _ARTICLES.sub("", _plain_words(text))


def _plain_words(text: str) -> str:
    """Return words in lower case, without punctuation."""
    return " ".join(_WORD.findall(text.lower()))


def clauses(line: str) -> list[str]:
    """Return the normalized clauses of a line."""
    return list(filter(None, map(normalize, _CLAUSE.split(line.lower()))))


def is_negation(clause: str) -> bool:
    """True if a normalized clause has a word such as ``not`` or ``never``."""
    return _NEGATION.search(clause) is not None


def ends_negated(text: str) -> bool:
    """True if the words after the last clause's beginning are negated: ``it is here. I do not``."""
    last = _CLAUSE.split(text[-LONGEST_CLAUSE:].lower())[-1]
    return is_negation(normalize(last)) and not _JOINED.search(last)


def is_negated(line: str, name: str) -> bool:
    """True if a clause with the (normalized) name is negated or crossed out, or only a negation."""
    # "Non-stick" is a quality, no negation.
    text = line.lower()
    if "non " not in name:
        text = text.replace("non-", "")
    for clause in clauses(text):
        rest = clause
        # A name may hold a word such as "no", so it is removed before the test.
        if name:
            before, *after = re.split(rf"\b{re.escape(name)}\b", clause)
            rest = " ".join([before, *after])
            is_excluded = _EXCLUDED_BEFORE.search(before) is not None
            is_excluded = is_excluded or any(map(_DISMISSED.match, after))
            # "Exclude all but 3" and "all but 3 are blocked" leave the 3.
            if after and is_excluded != bool(_ALL_BUT.search(before)):
                return True
        # A clause of Chinese is one word: it is only a negation if it begins with one.
        is_short = len(rest.split()) <= 2
        if not rest.isascii():
            is_short = is_short and _NEGATION.match(rest) is not None
        if is_negation(rest) and (rest != clause or is_short):
            return True
    # The sign after another sentence is not about the name.
    sentences = filter(_DOUBTED.search, _SENTENCE_END.split(line))
    return any(re.search(rf"\b{re.escape(name)}\b", normalize(s)) for s in sentences)


_NOTHING = re.compile(
    r"\W*(?:none|nothing|n/?a|null|nil|not applicable)?\W*(?:\(.*)?",
    re.I | re.DOTALL,
)


def is_nothing(value: object) -> bool:
    """True if a field is empty or says so: ``N/A``, ``None (no input needed)``."""
    return _NOTHING.fullmatch(str(value)[:100]) is not None


def in_order(named: Iterable[tuple[str, T]]) -> list[T]:
    """Return the values of named arguments in the order of actions, without remarks.

    Where a key is not known, the order is that of the answer.
    """
    kept = [(key.lower(), value) for key, value in named if key.lower() not in REMARKS]
    if all(key in _ORDER for key, _ in kept):
        kept.sort(key=lambda pair: _ORDER.index(pair[0]))
    return [value for _, value in kept]


# Options and tails, of names and actions alike.


@dataclass(frozen=True, slots=True)
class _Option:
    """A name or an action (maybe illegal) that a text begins with, and the text after it."""

    value: Any
    tail: str
    is_call: bool = False

    @property
    def is_whole(self) -> bool:
        """True if nothing but punctuation follows."""
        return not self.tail.strip(AROUND + _END_PUNCTUATION + ")]>}")

    def objection(self, begins_option: Callable[[str], object]) -> RejectionKind | None:
        """Return why the tail leaves open which option is meant; None if it is thought."""
        # A second option after the first leaves open which one is meant.
        if begins_option(_JOINER.sub("", self.tail, count=1)):
            return "several_actions"
        if _DISMISSED.match(self.tail) or is_retracted(self.tail):
            return "no_action"
        if self.is_call:
            return "several_actions" if _OR_ARGUMENT.match(self.tail) else None
        # "left, not right" confirms the option; "left? no" takes it back.
        excluded = _EXCLUDED.sub("", self.tail, count=1)
        if excluded != self.tail and begins_option(excluded):
            return None
        if _TAKEN_BACK.match(self.tail) or begins_denied(self.tail):
            return "no_action"
        if _HEDGE.match(self.tail):
            return "unknown"
        return None


def _with_corrections(lines: Sequence[str]) -> list[str]:
    """Return the lines that may name another option, also without the words that correct."""
    found = [*lines[:MOST_LINES]]
    # A word such as "wait" may be an action itself, so the line stays.
    return found + [_CORRECTION.sub("", line) for line in found]


def _takes_back(lines: Sequence[str], is_call: bool = False) -> bool:
    """True if the lines after an option take it back: a sentence does, and after a bare option also
    a bare "no" on the next line. A later "no" may answer a question."""
    following = [line for line in lines if line.strip()]
    is_bare_no = not is_call and any(map(is_no, following[:1]))
    return is_bare_no or is_retracted("\n".join(following))


def _bare_heads(line: str) -> list[tuple[str, str]]:
    """Return each beginning of a line that may be a bare option, longest first, and its tail."""
    # Cut at the longest action, as the rest is thought.
    ends = [match.start() for match in _HEAD_END.finditer(line[:LONGEST_ACTION])]
    ends = [*ends[:MOST_WORDS], len(line)]
    # Longest first, so that a name of several words is read before its first word.
    return [(line[:end], line[end:]) for end in reversed(ends)]


# One of a closed list of names.


def pick(words: str, names: Collection[str], anywhere: bool = False) -> str | Refusal:
    """Return the one name given by the words.

    The words, or one of their lines, are the name, or begin with it. With ``anywhere``, the name
    may also be within a sentence on the first line; a name inside a longer one (``table`` in
    ``coffee table``) does not count.
    """
    # Models add quotes, bullets and thoughts around a name.
    words = words[:LONGEST].strip(AROUND)
    if not any(map(_GROUPED.search, names)):
        words = _GROUPED.sub(partial(_as_one_number, names), words)
    if not any(map(_SCRIPT_CHANGE.search, names)):
        words = _SCRIPT_CHANGE.sub(" ", words)
    for number in (_MEASURED, _FRACTION):
        if not any(map(number.search, names)):
            words = number.sub("…", words)
    lines = [strip_marker(line) or line for line in words.splitlines() if line.strip()]
    if not lines:
        return Refusal("empty", "no option was named")
    listed = _Names(names)
    later_lines = _with_corrections(lines[1:])
    on_lines = set(filter(None, map(listed.match, [lines[0], *later_lines])))
    # The number of an exit looks like that of a list: first with it, then without.
    first = listed.option(words.split("\n", 1)[0]) or listed.option(lines[0])
    if first is not None:
        kind = first.objection(listed.option)
        if on_lines - {first.value}:
            kind = "several_actions"
        elif _takes_back(lines[1:], first.is_call):
            kind = kind or "no_action"
        return str(first.value) if kind is None else _refuse_name(kind)
    # Names on lines of their own, and those within the first line.
    named = on_lines | listed.within(lines[0])
    if len(named) > 1:
        return _refuse_name("several_actions")
    for only in named:
        # "Not the kitchen" names what is not meant.
        is_excluded = any(is_negated(line, normalize(only)) for line in lines)
        after = max(
            (n for n, line in enumerate(lines) if listed.match(line)), default=0
        )
        if is_excluded or _takes_back(lines[after + 1 :]):
            return _refuse_name("no_action")
        if on_lines or anywhere:
            return only
    return _refuse_name("unknown")


def _as_one_number(names: Collection[str], grouped: re.Match[str]) -> str:
    """Return digits with separators as the one number that they are, unless each is a name."""
    first, *others = re.findall(r"\d+", grouped[0])
    if {first, *others} <= {*names}:
        return grouped[0]  # "1,2"
    is_thousands = all(len(each) == 3 for each in others)
    return "".join([first, *others]) if is_thousands else "…"


class _Names:
    """A closed list of names, which are found in any case and with other words around them."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = names
        self._by_key: dict[str, list[str]] = {}
        # Two names may be equal in lower case: then neither is found by it.
        for each in names:
            self._by_key.setdefault(normalize(each), []).append(each)
        # Where "A" is an option, "A/B" is two of them and no "B" with an article.
        self._key_of = normalize
        if not self._by_key.keys().isdisjoint(_ARTICLE_WORDS):
            self._key_of = _plain_words
        self._by_letters = {key.replace(" ", ""): key for key in self._by_key}

    def match(self, text: str) -> str | None:
        """Return the name that a text consists of."""
        text = text.strip(AROUND + _END_PUNCTUATION + "{}<>$")
        # Exact spelling wins over everything.
        if text in self._names:
            return text
        if _DOUBTED.search(text) and not any(map(_DOUBTED.search, self._names)):
            return None
        bare = _NAME_LEAD.sub("", text, count=1)
        # A number in words or with leading zeros, if the names have no such word themselves.
        counted = _COUNTED.sub("", bare)
        word = self._key_of(counted)
        number = _NUMBER.fullmatch(counted)
        digits = str(int(number[1])) if number else _NUMBER_WORDS.get(word, "")
        letters = word.replace(" ", "").removesuffix("erly")
        joined = self._by_letters.get(_ABBREVIATED.get(letters, letters), "")
        if re.search(r"\d \d", word):  # two numbers, which are not one
            joined = ""
        for form in (text, bare, digits, joined):
            found = self._by_key.get(self._key_of(form), [])
            if form and len(found) == 1:
                return found[0]
        return None

    def option(self, line: str) -> _Option | None:
        """Return the name that a line begins with."""
        for head, tail in _bare_heads(line):
            if (name := self.match(head)) is not None:
                return _Option(name, tail)
        call = _NAME_CALL.match(line)
        if call is not None and (name := self.match(call[1])) is not None:
            return _Option(name, line[call.end() :], True)
        return None

    def within(self, line: str) -> set[str]:
        """Return the names within a line. A longer name hides the shorter ones in it."""
        line = line[:LONGEST_ACTION]
        rest = self._key_of(line)
        named: set[str] = set()
        # Longest first: "coffee table" takes the words of "table".
        for key in sorted(filter(None, self._by_key), key=len, reverse=True):
            phrase = re.compile(rf"(?<![\w-]){re.escape(key)}\b")
            is_article = key in _ARTICLE_WORDS and _is_article(
                self._by_key[key][0], line
            )
            if phrase.search(rest) and not is_article:
                named.update(self._by_key[key])
                rest = phrase.sub("|", rest)
        return named


def _is_article(name: str, line: str) -> bool:
    """True if a line has a name such as ``A`` before other words alone, as in ``a bed``: it then
    names an option only with its capital within the sentence, as in ``option A looks good``."""
    if name.isupper() and re.search(rf"(?<=\w\s){name}\b", line):
        return False
    return re.search(rf"\b{re.escape(name)}\b(?!\s+[a-z]{{2}})", line, re.I) is None


_NAME_REASONS: dict[RejectionKind, str] = {
    "several_actions": "several options were named; name exactly one",
    "no_action": "the answer says what not to choose; name what to choose",
    "unknown": "no option that is possible here was named alone",
}


def _refuse_name(kind: RejectionKind) -> Refusal:
    """Return the refusal of a name that does not exist or is not unique."""
    return Refusal(kind, _NAME_REASONS[kind])


# One action of an action space.

_WRITTEN = re.compile(r"([a-z_]+)(?:\[([^\[\]\n]*)\])?")
# Possessive, and anchored at word starts: otherwise long words and blanks take quadratic time.
_UNKNOWN_CALL = re.compile(r"([A-Za-z][\w\-]*+)\s?(?=[\[(])")
_STEP = re.compile(r"([A-Za-z][\w.]*)\s?\((.*)\)", re.DOTALL)
_ACTION_LABEL = re.compile(r"action[\"']?\s*[=:]", re.I)
_STEPS_ACTION = re.compile(
    r"""(?:^|,)\s*["']?action["']?\s*[=:]\s*(["'])(.*?)\1\s*(?=,|$)""", re.I | re.DOTALL
)
_WORD_BEFORE_BRACKET = re.compile(r"[A-Za-z][\w\-]*+\s(?=[\[(])")
_AFTER_VERB = re.compile(
    r"[\s:=>`'\"*：＝“„«‹「『]*(?:(?:to|the|at|towards?|by)\s+)*", re.I
)
_PLACING = "in/on|in|on|into|onto|to|at|with|from"
_GLUE = re.compile(rf"[\s,;]+(?:(?:{_PLACING}|and|the)\s+){{0,2}}")
_LIST = re.compile(r"[,;、，；]|\s(?:->|→)\s")
_PREPOSITION = re.compile(rf"\s+(?:{_PLACING})\s+")
"""Between names of several words: ``put mug 1 in/on shelf 2``."""
_ARGUMENT_LEAD = re.compile(
    r"^(?:[{\s'\"]*([A-Za-z_]{1,20})['\"]?\s*[=:]\s*|(?:(?:to|the|at|towards?)\s+)+)",
    re.I,
)
"""A keyword or an article before an argument: ``object=mug_1``, ``the mug_1``."""
_PACKED = re.compile(
    r"^(?:kw)?(?:args?|arguments?|param(?:eter)?s?|input)\s*[=:]\s*(?=[{(\[])", re.I
)
"""A keyword before all arguments of a call: ``goto(args={"target": "pot_1"})``."""
_TUPLE = re.compile(r"^\((.*?),?\s*\)$", re.DOTALL)
_TEXT_KEYWORD = re.compile(r"""^\w{1,20}\s?=\s?(["'])(?!.*\1)""")
"""A keyword before a message, whose end is stripped: ``message="hello``."""
_GLOSS = re.compile(r"^([^\W\d_]+)(?: [^\W\d_]+){0,2} ?\((\1[^()]*)\)?$", re.I)
"""An ID in brackets after its name: ``the pot (pot_1)``."""
_LEAKED = re.compile(r"^(?:<\|[\"|>]{0,3})+|\"?(?:<\|[\"|>]{0,3}|</\w{1,40}>\s*)+$")
"""Signs of a call's form that servers leave in an argument: the last tags, or half of a quote."""
_BETWEEN = re.compile(
    rf"\]\s*(?:(?:{_PLACING}|and)\s*)?\[|\)\s*(?:(?:{_PLACING}|and)\s*)?\("
)
"""Between arguments in brackets of their own: ``put[mug_1] on [shelf_1]``."""
_UNIT = re.compile(
    r"(?<=\d)\s*(?:°|º|deg(?:ree)?s?\b\.?|m\b|met(?:er|re)s?\b)(?![°\w])", re.I
)
"""The unit of a number, where it is the one of actions: degrees, metres."""
_LETTER = re.compile(r"[^\W\d_]")
_OTHER_DIGIT = re.compile(r"(?![0-9])\d")
"""A digit of another script, as in Arabic or Hindi."""
_NUMERAL = re.compile(r"\(?\+?([-–]?\d+(?:\.\d+)?)\)?")
"""A number with its sign."""
_FEET = re.compile(r"[-+\d.]+\s*['’′\"”″]+")
"""Feet, inches or minutes of arc, whose signs look like quotes. No action has them."""
_UNLISTED_NAME = re.compile(r"[\w.+-]+(?:(?:\s+[\w.+-]+){0,2}\s+\d+)?")
"""A bare name that is not listed: one word, or a few that a number ends, as ``dining table 2``. No
sentence is a name."""


def parse_exact(words: str, space: ActionSpace) -> Action | None:
    """Return the action if the words spell it exactly; None if they need the full parser."""
    match = _WRITTEN.fullmatch(words)
    if match is None or len(words) > LONGEST_ACTION:
        return None
    verb, arguments = match.groups()
    # Arguments as ``str(action)`` writes them.
    action = Action(verb)
    if arguments:
        action = Action(verb, tuple(filter(None, arguments.split(", "))))
    if verb in space.open_verbs or not space.knows(action):
        return None
    return action


@dataclass
class Legal:
    """Parser for the actions of one turn. ``earlier`` turns' actions make reasons more precise."""

    space: ActionSpace
    earlier: Collection[Action] = ()

    def read(self, words: str) -> Action | Refusal:
        """Return the one legal action that the words begin with, or a refusal."""
        action = self._read(words)
        if isinstance(action, Refusal) and not words.isascii():
            # Names may have such digits themselves, so they are only tried.
            plain_digits = _OTHER_DIGIT.sub(lambda digit: str(int(digit[0])), words)
            if plain_digits != words:
                other = self._read(plain_digits)
                return action if isinstance(other, Refusal) else other
        return action

    def _read(self, words: str) -> Action | Refusal:
        """Return the one legal action that the words begin with, or a refusal."""
        words = words.strip(AROUND)
        if not _WORD.search(words):
            return Refusal("empty", "no action was named")
        exact = parse_exact(words, self.space)
        if exact is not None:
            return exact
        if not self._verb_of(words)[0]:
            words = _without_step(words)
        option = self._option(words)
        # The thought after an action does not count to its length.
        length = len(words)
        if option is not None:
            length -= len(option.tail)
        if length > LONGEST_ACTION:
            return Refusal("too_long", f"the action ran to {length:,} characters")
        if option is None:
            return self._refusal(_trim(words.split("\n", 1)[0]))
        first_line, *other_lines = option.tail.splitlines() or [""]
        kind = replace(option, tail=first_line).objection(self._begins_action)
        others = {*map(self.whole, _with_corrections(other_lines))}
        if _takes_back(other_lines, option.is_call):
            kind = kind or "no_action"
        if _REPEATED.match(first_line):
            kind = "several_actions"
        if kind == "several_actions" or others - {None, option.value}:
            return Refusal(
                "several_actions",
                "several actions were named; give exactly one",
            )
        if kind is not None:
            return self._malformed(option.value.name, words)
        action: Action = option.value
        if action not in self.space:
            return self._not_possible(action)
        # Texts may have this word, and names that are listed.
        is_free = self.takes_text(action.name) or self.space.knows(action)
        signs = filter(None, map(_NOT_ONE_NAME.search, action.arguments))
        unclear = next(signs, None)
        if unclear is not None and not is_free:
            kind = "unknown" if unclear[1] else "several_actions"
            return Refusal(kind, "the name of exactly one object is needed")
        return action

    def read_unlabeled(self, text: str) -> Action | Refusal | None:
        """Return the action of an answer without labels, from the first line that is one; None if
        there is none."""
        lines = [line for line in text.splitlines() if line.strip()][:MOST_LINES]
        for number, line in enumerate(lines):
            option = self._option(line)
            is_one = option is not None and (number == 0 or option.is_call)
            if is_one or self.whole(line) is not None:
                return self.read("\n".join(lines[number:]))
        # One or two words, or a line that begins with a verb, are an attempt at an action, and get
        # its reason.
        is_short = len(text.split()) <= 2
        if len(lines) == 1 and (is_short or self._verb_of(strip_marker(text))[0]):
            return self.read(strip_marker(text))
        return None

    def whole(self, line: str) -> Action | None:
        """Return the legal action that a line consists of; unlisted ones must be calls."""
        option = self._option(line)
        if option is None or not option.is_whole or option.value not in self.space:
            return None
        # Any words may be the name of an object: only brackets show that they are meant as one.
        action: Action = option.value
        is_meant = self._is_call(option, line) or self.space.knows(action)
        return action if is_meant else None

    def _is_call(self, option: _Option, text: str) -> bool:
        """True for a call of a listed verb, or of another one with its square bracket."""
        name = option.value.name
        if name in self._verbs:
            return option.is_call
        return option.value in self.space and f"{name}[" in text.lower()

    def as_call(self, value: object) -> str:
        """Return the call whose verb and arguments a list has; empty for other values, such as a
        list of actions.

        >>> Legal(ActionSpace((Action("goto", ("b",)),))).as_call(["goto", "b"])
        'goto[b]'
        """
        words = value if isinstance(value, list) else []
        if len(words) < 2 or not all(isinstance(each, str) for each in words):
            return ""
        verb, rest = self._verb_of(words[0])
        takes_arguments = any(action.arguments for action in self._verbs.get(verb, []))
        is_verb = not rest and (takes_arguments or self.takes_text(verb))
        # Two actions are no verb and its argument.
        if not is_verb or any(map(self._option, words[1:])):
            return ""
        return f"{verb}[{', '.join(words[1:])}]"

    def takes_text(self, verb: str) -> bool:
        """True if a verb takes free text."""
        return _snake(verb) in self.space.open_verbs

    # Options: the grammar's ``call`` and ``bare``.

    def _option(self, text: str) -> _Option | None:
        """Return the action that a text begins with; None if it begins otherwise."""
        text = _LEAD.sub("", strip_marker(text) or text, count=1)
        text = _IN_BRACKETS.sub(r"\1 ", text)
        return self._call(text) or self._bare(text)

    def _call(self, text: str) -> _Option | None:
        """Read ``put[mug_1, table_1]`` or ``chat: hello``; verbs and names may be unknown."""
        verb, rest = self._verb_of(text)
        # A message to the end of the line
        if rest[:1] == ":" and self.takes_text(verb):
            message, _, others = rest[1:].partition("\n")
            message = message.strip(AROUND)
            second = self._call(message) or self._bare(message)
            if message and second is not None and second.is_whole:
                return _Option(Action(verb), message)  # two actions, not a message
            return _Option(self._action(verb, message), f"\n{others}", is_call=True)
        unknown = _UNKNOWN_CALL.match(text)
        if rest[:1] not in _CLOSING and unknown is not None:
            verb = _snake(unknown[1])
            rest = text[unknown.end() :]
        end = _closing_bracket(rest)
        if not end:
            return None
        inner = rest[1 : end - 1].strip(AROUND)
        if packed := _PACKED.match(inner):
            inner = _TUPLE.sub(r"\1", inner[packed.end() :])
        is_missing = "," not in inner and is_nothing(inner.strip("()"))
        if is_missing and Action(verb) not in self.space:
            inner = ""
        # ``step("goto[b]")``: the action is the argument
        is_wrapped = verb not in self._verbs and not is_negation(normalize(verb))
        wrapped = self._call(inner) if is_wrapped else None
        if wrapped is not None and wrapped.is_whole and wrapped.value in self.space:
            return replace(wrapped, tail=rest[end:])
        action = self._action(verb, inner)
        if action in self.space:
            return _Option(action, rest[end:], is_call=True)
        # ``stop (I am there)`` is a bare action with a thought in brackets.
        if rest[0] in "(（" and Action(verb) in self.space:
            return None
        joined = _BETWEEN.sub(", ", text)
        if joined != text:
            call = self._call(joined)
            if call is not None and call.value in self.space:
                return call
        # ``stop[done]``, as in LangSuitE's prompts, where a stop takes no answer
        if verb == "stop" and STOP in self.space:
            action = STOP
        return _Option(action, rest[end:], is_call=True)

    def _bare(self, text: str) -> _Option | None:
        """Read ``put mug 1 in table_1`` or ``stop``."""
        line, newline, others = text.partition("\n")
        heads = _bare_heads(line)
        # The longest with listed names, else the shortest: any words could be a name.
        for is_open, each in ((False, heads), (True, heads[::-1])):
            for head, tail in each:
                verb, rest = self._verb_of(_trim(head))
                rest = _AFTER_VERB.sub("", rest, count=1)
                if not verb or (rest and self.takes_text(verb)):
                    continue  # after an open verb, any words would be a message
                action = self._action(verb, rest, (_GLUE, _PREPOSITION))
                is_named = is_open and all(
                    map(_UNLISTED_NAME.fullmatch, action.arguments)
                )
                if self.space.knows(action) or (is_named and action in self.space):
                    return _Option(action, tail + newline + others)
        return None

    def _action(
        self,
        verb: str,
        text: str,
        separators: Sequence[re.Pattern[str]] = (_LIST, _GLUE, _PREPOSITION),
    ) -> Action:
        """Return the action of a verb and its arguments' text: the first listed one, else that of
        the first separator."""
        if self.takes_text(verb):
            text = _only_text(text)
            text = _TEXT_KEYWORD.sub("", " ".join(text.split()), count=1)
            return Action(verb, tuple(filter(None, [text])))
        # As one argument, then split by each separator in turn.
        bare = _UNIT.sub("", text)
        # Of numbers alone: "0.2 m west and 0.3 m north" is one argument, with its units.
        if _LETTER.search(bare):
            bare = text
        parts = [[text], *(each.split(bare, MOST_WORDS) for each in separators)]
        named = [[(_keyword(part), part) for part in each] for each in parts]
        words = [map(self._argument, in_order(each)) for each in named]
        actions = [Action(verb, tuple(filter(None, each))) for each in words]
        as_written = Action(verb, tuple(filter(None, [text])))
        # None is listed: the split by commas is the most likely reading.
        return next(filter(self.space.knows, [as_written, *actions]), actions[1])

    def _argument(self, word: str) -> str:
        """Return a listed argument as it is listed, another without a keyword and punctuation."""
        if _FEET.fullmatch(word.strip()):
            return word
        word = _LEAKED.sub("", word.strip()).strip(AROUND + "\\")
        plain = _ARGUMENT_LEAD.sub("", word, count=1).strip(AROUND + "{}")
        plain = _trim(re.sub(r"^[<\[]+([^<\[]+)[>\]]+$", r"\1", plain))
        # The word as written, without a keyword, and without a remark in brackets.
        before = plain.partition("(")[0]
        for form in (word, plain, before, _GLOSS.sub(r"\2", plain)):
            matches = self._arguments.get(_letters(form), [])
            if word in matches:
                return word
            if len(matches) == 1:
                return matches[0]
        numeral = _NUMERAL.fullmatch(_UNIT.sub("", plain))
        return numeral[1].replace("–", "-") if numeral else plain

    def _begins_action(self, text: str) -> bool:
        """True if a text begins with a call of a verb, with a listed bare action, or with two verbs
        in a row, as in ``forward turn_left``."""
        # ``it [goto[b]]`` is thought; a call like ``step(goto[b])`` has no blank.
        words = _LEAD.sub("", text, count=1)
        if _WORD_BEFORE_BRACKET.match(words) and not self._verb_of(words)[0]:
            return False
        option = self._option(text)
        if option is None:
            verb, rest = self._verb_of(text)
            # Two verbs in a row: "forward turn_left".
            return verb != "" and self._verb_of(rest.lstrip())[0] != ""
        return self._is_call(option, text) or self.space.knows(option.value)

    def _verb_of(self, words: str) -> tuple[str, str]:
        """Return the longest verb at the beginning (``go to`` is ``goto``), and the rest."""
        for verb, spelling in self._spellings:
            if match := spelling.match(words):
                return verb, words[match.end() :].lstrip(" \t`'\"*")
        return "", ""

    # Reasons for refusals.

    def _refusal(self, line: str) -> Refusal:
        """Return why a line begins with no action."""
        # How the line fails decides which advice helps.
        verb, rest = self._verb_of(line)
        rest = _AFTER_VERB.sub("", rest, count=1)
        has_signs = re.search(r"[^\w\s\-]", line) is not None
        takes_arguments = any(action.arguments for action in self._verbs.get(verb, []))
        is_prose = not verb and len(line.split()) > 2
        if has_signs or is_prose or (verb and rest and not takes_arguments):
            return self._malformed(verb, line)
        return self._not_possible(self._action(verb or _snake(line), rest), line)

    def _not_possible(self, action: Action, written: str = "") -> Refusal:
        """Return why an action is not possible here."""
        verb = action.name
        if self.takes_text(verb) and action != STOP:
            return Refusal("empty", f"{verb} needs words: {verb}[what you say]")
        if verb not in self._verbs:
            problem = f"there is no action {(written or str(action))[:60]!r}"
            return Refusal("unknown", f"{problem}; {self._verbs_listed}")
        options = [str(each) for each in self._verbs[verb]]
        examples = ", ".join(options[:EXAMPLES])
        # A long menu is cut in the message.
        if len(options) > EXAMPLES:
            examples += f" and {len(options) - EXAMPLES} more"
        # "Was possible earlier" helps more than a list.
        if action in self.earlier:
            problem = f"{action} was possible earlier, but not from here"
            return Refusal("illegal", f"{problem}; possible: {examples}")
        problem = f"{str(action)[:80]} is not possible here"
        return Refusal("unknown", f"{problem}; for example: {examples}")

    def _malformed(self, verb: str, words: str) -> Refusal:
        """Return how an action has to be written."""
        if verb not in self._verbs:
            problem = f"{words[:60]!r} is not an action"
            return Refusal("no_action", f"{problem}; {self._verbs_listed}")
        example = [*self._verbs[verb], f"{verb}[what you say]"][0]
        return Refusal("no_action", f"write it like this: {example}")

    @property
    def _verbs_listed(self) -> str:
        """The actions as they are written, one of each verb if they are many."""
        texts: list[str] = []
        for verb, actions in self._verbs.items():
            most = len(actions) if len(self.space) <= EXAMPLES else 1
            texts += [str(action) for action in actions[:most]]
            if not actions:
                texts.append(f"{verb}[what you say]")
        return f"the actions are: {', '.join(texts) or 'none'}"

    # Indexes of the action space, built at first use.

    @cached_property
    def _verbs(self) -> dict[str, list[Action]]:
        """Each verb and its listed actions."""
        actions: dict[str, list[Action]] = {}
        for action in self.space.listed:
            actions.setdefault(action.name, []).append(action)
        for verb in self.space.open_verbs:
            actions.setdefault(verb, [])
        return actions

    @cached_property
    def _spellings(self) -> list[tuple[str, re.Pattern[str]]]:
        """Verbs with their spellings, longest first: ``goto`` is also ``Go to`` and ``go-to``."""
        spellings = []
        # The longest first, so that "go_put" is not read as "go".
        in_forms = (form.partition("\\[")[0] for form in self.space.forms)
        for verb in sorted({*self._verbs, *in_forms}, key=len, reverse=True):
            letters = r"[\s_\-]*".join(map(re.escape, verb.replace("_", "")))
            spellings.append((verb, re.compile(rf"{letters}(?![A-Za-z0-9_])", re.I)))
        if self.takes_text("stop") and "answer" not in self._verbs:
            # LangSuitE's verb for a stop with an answer
            spellings.append(("stop", re.compile(r"answer(?=\s*[\[(])", re.I)))
        return spellings

    @cached_property
    def _arguments(self) -> dict[str, list[str]]:
        """Listed arguments by their letters and digits."""
        arguments: dict[str, list[str]] = {}
        # Each once, in order: sets would lose the order.
        for word in dict.fromkeys(w for a in self.space.listed for w in a.arguments):
            arguments.setdefault(_letters(word), []).append(word)
        return arguments


def _without_step(words: str) -> str:
    """Return the action of a call that takes it as text: ``do(action="goto", object="pot_1")``."""
    step = _STEP.fullmatch(words)
    named = step and _STEPS_ACTION.search(step[2])
    # Two of them are several actions.
    if not step or not named or len(_ACTION_LABEL.findall(words)) > 1:
        return words
    # ``not(action="stop")``
    verb = normalize(step[1])
    if is_negation(verb) or _EXCLUDED_BEFORE.search(verb):
        return words
    others = _STEPS_ACTION.sub("", step[2], count=1).strip(" ,")
    return f"{named[2]}({others})" if others else named[2]


def _only_text(words: str) -> str:
    """Return the only text of a JSON object, ``{"message": "hello"}``; other words as they are."""
    with suppress(ValueError, RecursionError):
        value = json.loads(words)
        values = in_order(value.items()) if isinstance(value, dict) else []
        if len(values) == 1 and isinstance(values[0], str):
            return values[0]
    return words


def _trim(words: str) -> str:
    """Return words without quotes and punctuation around them."""
    return words.strip(AROUND + _END_PUNCTUATION)


def _keyword(part: str) -> str:
    """Return the keyword of an argument; empty without one."""
    lead = _ARGUMENT_LEAD.match(part)
    return (lead and lead[1]) or ""


def _closing_bracket(text: str) -> int:
    """Return the end of the bracket that a text begins with, counting its kind; 0 without one."""
    opening = text[:1]
    closing = _CLOSING.get(opening)
    depth = 0
    # Brackets of other kinds inside are text.
    for position, sign in enumerate(text):
        depth += (sign == opening) - (sign == closing)
        if depth == 0:
            return position + 1
    return 0


def _letters(word: str) -> str:
    """Return a name without what parts its words: ``"Pot #1"`` and ``pot_1`` are ``pot1``, while
    ``-30`` keeps its sign."""
    return re.sub(rf"(?<=\w)-|[\s_#$@~]+|{_SIGN}", "", word.lower())


def _snake(word: str) -> str:
    """Return a word in snake case: ``" Pick-up "`` -> ``pick_up``."""
    return re.sub(r"[\s\-]+", "_", word.strip().lower())
