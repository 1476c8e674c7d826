"""Definitions of all metrics by section, in the order of columns."""

from __future__ import annotations

from wayword.core.metric import Metric

ACCOUNTING = (
    Metric("steps", "Steps", "count", None, "turns taken, including rejected answers"),
    Metric(
        "rejections",
        "Rej.",
        "count",
        "lower",
        "answers without a legal action, including those that a recipe's "
        "fallback replaced",
    ),
    Metric("rejection_rate", "Rej. %", "rate", "lower", "rejections per step"),
    Metric("calls", "Calls", "count", "lower", "model calls"),
    Metric(
        "prompt_tokens",
        "Prompt",
        "tokens",
        "lower",
        "prompt tokens, including reused ones",
    ),
    Metric(
        "reused_tokens",
        "Reused",
        "tokens",
        None,
        "prompt tokens taken from the model's prefix cache instead of being evaluated",
    ),
    Metric("completion_tokens", "Written", "tokens", "lower", "generated tokens"),
    Metric(
        "reasoning_tokens",
        "Thought",
        "tokens",
        None,
        "generated tokens before the answer, by reasoning models; absent without any",
    ),
    Metric(
        "cache_written_tokens",
        "To cache",
        "tokens",
        None,
        "prompt tokens written to the provider's prefix cache, at a price "
        "of their own; absent without any",
    ),
    Metric(
        "estimated_calls",
        "Est.",
        "count",
        "lower",
        "calls whose tokens are estimated, as the server sends no counts; "
        "absent without any",
    ),
    Metric(
        "steps_forgotten",
        "Forgotten",
        "count",
        "lower",
        "steps dropped from prompts to fit the context; absent without any",
    ),
    Metric(
        "examples_forgotten",
        "No ex.",
        "count",
        "lower",
        "solved examples dropped from prompts to fit the context; absent without any",
    ),
    Metric(
        "escalated",
        "Large %",
        "rate",
        None,
        "calls answered by the large model of a cascade; absent without a cascade",
    ),
    Metric(
        "cost",
        "Cost",
        "dollars",
        "lower",
        "US dollars; absent if any call has no price",
    ),
    Metric("seconds", "Seconds", "seconds", "lower", "wall time of the episode"),
)

CUT = (
    Metric(
        "cut_off",
        "Cut %",
        "rate",
        "lower",
        "unreadable answers that reached their token limit, per step; hidden if all 0",
    ),
)

PREDICTIONS = (
    Metric(
        "steps",
        "Steps",
        "count",
        None,
        "moves, or actions if the file contains actions",
    ),
    Metric(
        "illegal_moves",
        "Illegal",
        "count",
        "lower",
        "moves without an edge, illegal actions, and a wrong start",
    ),
)

ADVICE = (
    Metric(
        "advice_lost",
        "Lost advice",
        "count",
        "lower",
        "experts whose answer was unusable, late or missing, and was left out",
    ),
)

TRIALS = (
    Metric("sr_first", "1st trial", "rate", "higher", "success on the first trial"),
    Metric(
        "trials",
        "Trials",
        "count",
        "lower",
        "trials played; the last one is scored",
    ),
    Metric(
        "verdicts",
        "Verdicts",
        "count",
        None,
        "trials whose outcome the judge revealed to the agent",
    ),
)

STATES = (
    Metric(
        "state_heading",
        "Heading",
        "rate",
        "higher",
        "steps whose stated heading is at most 22.5° off",
    ),
    Metric(
        "state_holding",
        "Holding",
        "rate",
        "higher",
        "steps that state exactly what is held",
    ),
    Metric(
        "state_place",
        "Place",
        "rate",
        "higher",
        "steps that state the true room or viewpoint",
    ),
)

INDOOR = (
    Metric(
        "sr",
        "SR",
        "rate",
        "higher",
        "the final viewpoint is less than 3 m from the goal",
    ),
    Metric(
        "spl",
        "SPL",
        "rate",
        "higher",
        "success x g / max(TL, g), with the shortest distance g from start to goal",
    ),
    Metric(
        "osr",
        "OSR",
        "rate",
        "higher",
        "any viewpoint of the path is less than 3 m from the goal",
    ),
    Metric(
        "ne",
        "NE",
        "metres",
        "lower",
        "geodesic distance from the final viewpoint to the goal",
    ),
    Metric("tl", "TL", "metres", None, "length of the path"),
    Metric(
        "ndtw",
        "nDTW",
        "rate",
        "higher",
        "exp(-DTW / (3 m x places in the reference))",
    ),
    Metric(
        "sdtw",
        "sDTW",
        "rate",
        "higher",
        "nDTW if the episode is a success, else 0",
    ),
    Metric("cls", "CLS", "rate", "higher", "coverage of the reference x length score"),
    Metric(
        "spl_gold",
        "SPL gold",
        "rate",
        "higher",
        "success x G / max(TL, G), with the length G of the reference path",
    ),
    Metric(
        "rgs",
        "RGS",
        "rate",
        "higher",
        "the object named at the stop is the target",
    ),
    Metric(
        "rgspl",
        "RGSPL",
        "rate",
        "higher",
        "RGS, weighted by path length as in SPL gold (code of HAMT and VLN-DUET)",
    ),
)

STREET = (
    Metric(
        "tc",
        "TC",
        "rate",
        "higher",
        "the final panorama is the goal or linked to it",
    ),
    Metric("spd", "SPD", "hops", "lower", "links from the final panorama to the goal"),
    Metric(
        "kpa",
        "KPA",
        "rate",
        "higher",
        "share of right decisions at the first step, the junctions and the goal",
    ),
    Metric(
        "kpa_released",
        "KPA (rel.)",
        "rate",
        "higher",
        "KPA as in VELMA's released code",
    ),
    Metric(
        "ndtw",
        "nDTW",
        "rate",
        "higher",
        "exp(-DTW / panoramas in the route), DTW in links (Ilharco et al. 2019)",
    ),
    Metric(
        "ndtw_released",
        "nDTW (rel.)",
        "rate",
        "higher",
        "exp(-DTW / (2 x root of the panoramas in the route)), as in VLN-Transformer's code",
    ),
)

PSR = (
    Metric(
        "psr",
        "PSR",
        "rate",
        "higher",
        "answers that name a listed option, per question; absent without questions",
    ),
    Metric(
        "psr_released",
        "PSR released",
        "rate",
        "higher",
        "answers whose first word is part of a listed name (LGX's released code)",
    ),
)

OBJECTNAV = (
    Metric(
        "success_grounded",
        "SR grounded",
        "rate",
        "higher",
        "a target is in view when the agent stops without giving up (LGX's text)",
    ),
    Metric(
        "success_visible",
        "SR visible",
        "rate",
        "higher",
        "a target is in view when the agent stops or gives up",
    ),
    Metric(
        "success_released",
        "SR released",
        "rate",
        "higher",
        "the episode ends within 2 m of a target, in view or not (LGX's released code)",
    ),
    Metric(
        "success_challenge",
        "SR challenge",
        "rate",
        "higher",
        "a target is in view within 1 m when the agent stops (RoboTHOR)",
    ),
    Metric(
        "chance",
        "Chance",
        "rate",
        None,
        "share of the episode's views with a target in view",
    ),
    Metric(
        "spl_grounded",
        "SPL grounded",
        "rate",
        "higher",
        "success_grounded x l / max(p, l)",
    ),
    Metric(
        "spl_visible",
        "SPL visible",
        "rate",
        "higher",
        "success_visible x l / max(p, l)",
    ),
    Metric(
        "spl_challenge",
        "SPL challenge",
        "rate",
        "higher",
        "success_challenge x l / max(p, l)",
    ),
    Metric(
        "ever_seen",
        "Ever seen",
        "rate",
        "higher",
        "a target was in view at some point",
    ),
    Metric(
        "ever_grounded",
        "Ever grounded",
        "rate",
        "higher",
        "the grounding detector recognized a target in view at some point",
    ),
    *PSR,
    Metric("tl", "TL", "metres", None, "length of the path"),
    Metric("turns", "Turns", "count", None, "full rotations in place"),
    Metric(
        "motions",
        "Motions",
        "count",
        "lower",
        "steps of 0.25 m and turns of 30 degrees",
    ),
    Metric(
        "found",
        "Found",
        "rate",
        None,
        "the agent stopped at what its own detector took for the target, right or wrong, and "
        "however far away (searches with a robot)",
    ),
    Metric(
        "found_from",
        "Found from",
        "metres",
        None,
        "where the target was found, metres from the end of the search to where the detector "
        "reported it",
    ),
    Metric("metres", "Metres", "metres", None, "metres that a robot traveled"),
    Metric(
        "blocked", "Blocked", "count", "lower", "a robot's motions that were blocked"
    ),
    Metric(
        "lost", "Lost", "count", "lower", "a robot's motions that lost the connection"
    ),
)

HOUSEHOLD = (
    Metric(
        "sr",
        "SR",
        "rate",
        "higher",
        "all goal conditions are met, or the answer is right",
    ),
    Metric(
        "goal_sr",
        "Goal-SR",
        "rate",
        "higher",
        "share of the goal conditions that are met (ALFRED's code pools those of all episodes)",
    ),
    Metric(
        "sr_strict",
        "SR strict",
        "rate",
        "higher",
        "rearrangement: every object restored, no other disturbed (2021 challenge)",
    ),
    Metric(
        "misplaced",
        "Misplaced",
        "ratio",
        "lower",
        "objects out of place at the end, relative to the start",
    ),
    Metric(
        "fixed_strict",
        "Fixed Strict",
        "rate",
        "higher",
        "share of displaced objects restored; 0 if any other was disturbed",
    ),
    Metric(
        "acc_exists",
        "Acc exists",
        "rate",
        "higher",
        "accuracy on exists questions",
    ),
    Metric(
        "acc_contains",
        "Acc contains",
        "rate",
        "higher",
        "accuracy on contains questions",
    ),
    Metric(
        "acc_counts",
        "Acc counts",
        "rate",
        "higher",
        "accuracy on counts questions",
    ),
    Metric("acc", "Acc", "rate", "higher", "the answer is an exact match"),
    Metric(
        "plw_sr",
        "PLW SR",
        "rate",
        "higher",
        "SR x L* / max(L*, L) (in ALFRED's code, the mean weights episodes by L*)",
    ),
    Metric(
        "plw_goal_sr",
        "PLW Goal-SR",
        "rate",
        "higher",
        "goal-SR x L* / max(L*, L) (in ALFRED's code, the mean weights episodes by L*)",
    ),
    Metric(
        "low_level",
        "Low-level",
        "count",
        None,
        "low-level actions, the stop and failed turns",
    ),
    Metric(
        "sr_pick_and_place_simple",
        "SR place",
        "rate",
        "higher",
        "success on tasks of type pick_and_place_simple",
    ),
    Metric(
        "sr_look_at_obj_in_light",
        "SR light",
        "rate",
        "higher",
        "success on tasks of type look_at_obj_in_light",
    ),
    Metric(
        "sr_pick_clean_then_place_in_recep",
        "SR clean",
        "rate",
        "higher",
        "success on tasks of type pick_clean_then_place_in_recep",
    ),
    Metric(
        "sr_pick_heat_then_place_in_recep",
        "SR heat",
        "rate",
        "higher",
        "success on tasks of type pick_heat_then_place_in_recep",
    ),
    Metric(
        "sr_pick_cool_then_place_in_recep",
        "SR cool",
        "rate",
        "higher",
        "success on tasks of type pick_cool_then_place_in_recep",
    ),
    Metric(
        "sr_pick_two_obj_and_place",
        "SR two",
        "rate",
        "higher",
        "success on tasks of type pick_two_obj_and_place",
    ),
    Metric(
        "sr_pick_and_place_with_movable_recep",
        "SR stack",
        "rate",
        "higher",
        "success on tasks of type pick_and_place_with_movable_recep",
    ),
)

BABYAI = (
    Metric("sr", "SR", "rate", "higher", "the level reports the task as done"),
    Metric("plw_sr", "PLW SR", "rate", "higher", "SR x L* / max(L*, L)"),
    Metric(
        "reward",
        "Reward",
        "rate",
        "higher",
        "reward of the level: 1 - 0.9 x steps / maximum steps",
    ),
    Metric(
        "low_level",
        "Low-level",
        "count",
        None,
        "low-level actions, and turns without one",
    ),
)

TWO_PHASE = (
    Metric(
        "sr",
        "SR",
        "rate",
        "higher",
        "the agent reaches the target's room by the hallway",
    ),
    Metric("phase_1", "Phase 1", "rate", "higher", "the agent reaches the hallway"),
    Metric(
        "phase_2",
        "Phase 2",
        "rate",
        "higher",
        "the agent reaches the target's room, in episodes that reach the hallway",
    ),
    *PSR,
)

ALFWORLD = (
    Metric("sr", "SR", "rate", "higher", "the game is won within the limit of steps"),
    # By type of task, as in ALFRED, but for the type that its games leave out.
    *(
        metric
        for metric in HOUSEHOLD
        if metric.key.startswith("sr_pick") or metric.key.startswith("sr_look")
        if not metric.key.endswith("movable_recep")
    ),
)
