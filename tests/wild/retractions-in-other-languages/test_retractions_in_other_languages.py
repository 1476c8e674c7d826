"""Sentences after an action that take it back, and others that do not."""

from __future__ import annotations

import pytest

from wayword.agents.answers import StrategyRecipe, read_pick
from wayword.agents.legal import Legal
from wayword.core.action import STOP, Action, ActionSpace, Rejection

GOTO = Action("goto", ("pot_1",))
SPACE = ActionSpace(
    (GOTO, STOP), accepts=lambda each: each == STOP or len(each.arguments) == 1
)
REACT = StrategyRecipe("Thought: why\nAction: what", "react")
ACTIONS = {
    "Action: goto[pot_1]": GOTO,
    "Action: goto pot_1": GOTO,
    "Action: stop": STOP,
}


def reading(answer: str) -> object:
    decided = REACT.decision(answer, Legal(SPACE)).outcome
    return decided.kind if isinstance(decided, Rejection) else decided.action


TAKEN_BACK = (
    "Wait, no.",
    "Wait, not yet.",
    "Hmm, no, that is wrong.",
    "Actually, no.",
    "Hold on, that's not right.",
    "On second thought, no.",
    "I take that back.",
    "Let me reconsider.",
    "Cancel that.",
    "Forget that.",
    "Ignore that.",
    "Don't do that.",
    "No, don't.",
    "Undo that.",
    "Disregard that.",
    "Let me rethink this.",
    "Espera, no.",
    "Espera, todavía no.",
    "Un momento, eso no es correcto.",
    "Mejor no.",
    "No, espera.",
    "Pensándolo bien, no.",
    "Perdón, me equivoqué.",
    "Olvídalo.",
    "Warte, nein.",
    "Moment, noch nicht.",
    "Halt, das ist falsch.",
    "Doch nicht.",
    "Nein, warte.",
    "Ach nein.",
    "Entschuldigung, das stimmt nicht.",
    "Vergiss das.",
    "Stopp, nein.",
    "Attends, non.",
    "Attendez, pas encore.",
    "Non, attends.",
    "Un instant, ce n'est pas correct.",
    "En fait, non.",
    "Oubliez ça.",
    "Finalement non.",
    "Je me suis trompé.",
    "Aspetta, no.",
    "Anzi, no.",
    "Un attimo, non ancora.",
    "Mi sono sbagliato.",
    "Espera, não.",
    "Espere, ainda não.",
    "Na verdade, não.",
    "Deixa pra lá.",
    "Подожди, нет.",
    "Стоп, ещё нет.",
    "Хотя нет.",
    "Я ошибся.",
    "Отмена.",
    "等等，不对。",
    "等一下，还没有。",
    "等等，还不行。",
    "不，等等。",
    "我错了。",
    "不对，不是这个。",
    "算了。",
    "稍等，这不对。",
    "抱歉，搞错了。",
    "等等，我还没到。",
    "等等，不应该这样。",
    "待って、違う。",
    "いや、まだだ。",
    "ちょっと待って、間違い。",
    "やっぱりやめる。",
    "잠깐, 아니야.",
    "아니, 아직.",
    "잠깐만요, 틀렸어요.",
    "취소.",
    "انتظر، لا.",
    "रुको, नहीं।",
    "Bekle, hayır.",
    "Wacht, nee.",
    "Czekaj, nie.",
    "Khoan, không.",
    "เดี๋ยวก่อน ไม่ใช่",
    "Vänta, nej.",
    "Počkej, ne.",
    "Várj, nem.",
    "Odota, ei.",
    "Περίμενε, όχι.",
    "Зачекай, ні.",
    "Așteaptă, nu.",
    "Tunggu, tidak.",
)


@pytest.mark.parametrize("sentence", TAKEN_BACK)
def test_an_action_that_a_sentence_takes_back_is_none(sentence: str) -> None:
    wrong = {}
    for action in ACTIONS:
        for gap in (". ", "\n", "\n\n"):
            answer = f"{action}{gap}{sentence}"
            if reading(answer) != "no_action":
                wrong[answer] = reading(answer)
    assert not wrong
    assert isinstance(read_pick(f"pot. {sentence}", ["pot", "pan"]), Rejection)


DENIALS = (
    "Aún no.",
    "C'est faux.",
    "Das war falsch.",
    "Eso está mal.",
    "Noch nicht.",
    "Pas encore.",
    "还没到。",
    "Nein.",
)


@pytest.mark.parametrize("denial", DENIALS)
def test_a_denial_alone_takes_back_what_has_no_brackets(denial: str) -> None:
    assert reading(f"Action: stop. {denial}") == "no_action"
    assert reading(f"Action: goto[pot_1]. Is it open? {denial}") == GOTO


KEPT = (
    "Wait for the door.",
    "No other room is near.",
    "It is not far.",
    "Actually it is near.",
    "Hold on to the pot next.",
    "Sorry for the delay.",
    "Not the pan.",
    "Nu.",
    "This is not the stove.",
    "Espera junto a la puerta.",
    "No está lejos.",
    "No hay otra opción.",
    "Aún no he visto la sartén.",
    "No es la sartén.",
    "Un momento después sigo.",
    "Warte dort auf mich.",
    "Nicht weit weg.",
    "Ich habe die Pfanne noch nicht gesehen.",
    "Das ist nicht die Pfanne.",
    "Keine andere Wahl.",
    "Moment für Moment.",
    "Attends devant la porte.",
    "Pas loin d'ici.",
    "Je n'ai pas encore vu la casserole.",
    "Ce n'est pas la poêle.",
    "Non loin de la porte.",
    "En fait il est proche.",
    "Aspetta alla porta.",
    "Non è lontano.",
    "Não é longe.",
    "Ainda não vi a panela.",
    "Подожди у двери.",
    "Это не сковорода.",
    "Нет других путей.",
    "Недалеко.",
    "等等再看别的。",
    "不远。",
    "还没看到平底锅。",
    "这不是平底锅。",
    "不用等。",
    "没有别的选择。",
    "等一下再开炉子。",
    "待っています。",
    "遠くない。",
    "まだフライパンを見ていない。",
    "いい選択です。",
    "잠깐 기다립니다.",
    "아직 팬을 보지 못했다.",
    "멀지 않다.",
    "アニメ。",
)


@pytest.mark.parametrize("sentence", KEPT)
def test_a_thought_that_begins_alike_changes_nothing(sentence: str) -> None:
    wrong = {}
    for action, read in ACTIONS.items():
        for gap in (". ", "\n", "\n\n"):
            answer = f"{action}{gap}{sentence}"
            if reading(answer) != read:
                wrong[answer] = reading(answer)
    assert not wrong
