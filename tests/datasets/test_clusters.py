"""Every dataset says which of its episodes depend on each other."""

from __future__ import annotations

import pytest

from wayword.core import registry
from wayword.core.dataset import INDEPENDENT, Clusters


@pytest.mark.parametrize("name", sorted(registry.names("dataset")))
def test_a_dataset_states_its_clusters_or_that_there_are_none(name: str) -> None:
    assert isinstance(registry.load("dataset", name).clusters, Clusters)


@pytest.mark.parametrize(
    ("dataset", "unit", "episode", "cluster"),
    [
        ("r2r", "path", "1438_2", "1438"),
        ("r2r", "path", "12", "12"),
        ("houses", "path", "test-s0-r9-0000_2_1", "test-s0-r9-0000_2"),
        ("reverie", "path", "1357_66_0", "1357"),
        ("reverie", "path", "1357_80_2", "1357"),
        ("household", "trajectory", "trial_T20190909_044715_2", "trial_T20190909_044715"),
        ("household", "trajectory", "home-test-s0-r5-0000_pick_0", "home-test-s0-r5-0000_pick_0"),
        ("robothor", "scene", "FloorPlan_Train1_2_Laptop_67", "FloorPlan_Train1_2"),
        ("apartments", "scene", "home_3_7", "home_3"),
        ("map2seq", "episode", "6918", "6918"),
    ],
)  # fmt: skip
def test_ids_name_the_cluster(
    dataset: str, unit: str, episode: str, cluster: str
) -> None:
    stated = registry.load("dataset", dataset).clusters
    assert (stated.unit, stated.of(episode)) == (unit, cluster)


def test_a_field_of_the_episode_names_the_cluster_where_ids_do_not() -> None:
    assert registry.load("dataset", "rxr").clusters.field == "path_id"
    assert INDEPENDENT.of("5593_2") == "5593_2"
