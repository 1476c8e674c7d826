"""A person beside scripted partners is told the sentences that they understand."""

from __future__ import annotations

import pytest

from wayword.agents.human import partner_text
from wayword.datasets.houses import Houses
from wayword.datasets.ma_household import MaHousehold
from wayword.datasets.ma_wah import MaWah


def test_each_role_is_shown_what_the_other_one_reads() -> None:
    episode = (
        MaHousehold(settings=MaHousehold.Settings(homes=1, episodes=1)).tasks[0].episode
    )
    assert "Please take mug_1 from cabinet_1" in partner_text(episode, "commander")
    assert "Where is mug_1?" in partner_text(episode, "follower")
    assert "Please take" not in partner_text(episode, "follower")


@pytest.mark.parametrize("actor", ["agent_1", "agent_2"])
def test_partners_of_one_kind_share_their_sentences(actor: str) -> None:
    episode = MaWah(settings=MaWah.Settings(homes=1, episodes=1)).tasks[0].episode
    assert partner_text(episode, actor).startswith("A scripted partner understands: ")
    assert "I take mug_1 to table_1." in partner_text(episode, actor)


def test_who_is_alone_is_shown_no_one() -> None:
    assert partner_text(Houses().tasks[0].episode, "agent") == ""
