"""Plant small changes of meaning, one at a time, and report which of them the tests notice.

    python tools/mutants.py                 # every change in the table below
    python tools/mutants.py runs/ velma     # those whose file or tests contain one of the words

Each change is made in a copy of the package, so the checkout stays as it is. A change whose text
has gone from the package, or stands in several places, is reported and not counted.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Mutant:
    """A text that stands once in the package, its replacement, and the tests that should fail.

    ``file`` is looked in first; text that was moved is found in the rest of the package.
    """

    file: str
    before: str
    after: str
    tests: str


MUTANTS = (
    # Choosing episodes.
    Mutant("runs/selection.py", "order = list(order)\n", "order = list(order)[: plan.limit]\n",
           "runs/test_choosing.py"),
    Mutant("runs/selection.py", "if plan.order is not None:", "if plan.order:",
           "runs/test_choosing.py"),
    Mutant("runs/selection.py", "random.Random(plan.order)", "random.Random(0)",
           "runs/test_choosing.py"),
    Mutant("runs/selection.py", "order[shard::shards][: plan.limit]",
           "order[: plan.limit][shard::shards]", "runs/test_choosing.py"),
    Mutant("runs/selection.py", "order[shard::shards]", "order[shard * len(order) // shards :]",
           "runs/test_choosing.py"),
    Mutant("runs/selection.py", "dict.fromkeys(plan.episodes)", "sorted(set(plan.episodes))",
           "runs/test_choosing.py"),
    # Identity.
    Mutant("runs/identity.py", '"seed": plan.seed,', "", "runs/test_identity_fields.py"),
    Mutant("runs/identity.py", '"max_steps": plan.max_steps or dataset.max_steps,',
           '"max_steps": dataset.max_steps,', "runs/test_identity_fields.py"),
    Mutant("runs/identity.py", '"shuffle": plan.order,', "", "runs/test_identity_fields.py"),
    Mutant("runs/identity.py", '"shard": plan.shard,', "", "runs/test_identity_fields.py"),
    Mutant("runs/identity.py", '"ask": plan.ask,', "",
           "runs/test_identity_fields.py"),
    Mutant("runs/identity.py", '"dataset_settings": data_settings,', "",
           "runs/test_identity_fields.py"),
    Mutant("runs/identity.py", '"data_checksum": checksum,', "", "runs/test_identity_fields.py"),
    Mutant("runs/identity.py", '_LOOPBACK.sub("//loopback", model.identity)',
           "model.name",
           "runs/test_identity_fields.py"),
    Mutant("models/scripted.py", 'f"{self.name} {given}"', "self.name",
           "runs/test_identity_fields.py"),
    # Episodes that fail and finish later, and pooled seeds.
    Mutant("runs/reports.py", ".difference(scored.ids)", "",
           "runs/test_failed_then_finished.py"),
    Mutant("runs/reports.py", "for k, v in settings.items() if k not in SEEDS}",
           "for k, v in settings.items()}", "runs/test_failed_then_finished.py"),
    Mutant("runs/reports.py", '["identity"].items() if k not in SEEDS', '["identity"].items()',
           "runs/test_failed_then_finished.py"),
    Mutant("runs/reports.py", "for each in runs for name in each.failed]",
           "for name in first.failed]",
           "runs/test_failed_then_finished.py"),
    Mutant("runs/active.py", 'if trajectory.ended == "failed":', "if False:",
           "runs/test_failed_then_finished.py"),
    Mutant("runs/selection.py", "if task_id(tasks, number) not in finished]", "]",
           "runs/test_failed_then_finished.py"),
    # Continuing.
    Mutant("core/recording.py", "if call.role == self._role and call.answer is not None",
           "if call.answer is not None", "runs/test_continuing_roles.py"),
    Mutant("core/recording.py", "log.drain_percept() or recorded.percept", "log.drain_percept()",
           "runs/test_continuing_roles.py"),
    Mutant("agents/velma/agent.py", "        self._opening_moves = self._opening_moves[1:]\n", "",
           "runs/test_continuing_roles.py"),
    # Which steps a prompt holds, and how each agent asks.
    Mutant("agents/prompting.py", "*self.turns[self.history.dropped :],",
           "*self.turns[: len(self.turns) - self.history.dropped],", "agents/test_requests.py"),
    Mutant("agents/prompting.py", "return self._blocks[self.dropped :]",
           "return self._blocks[: len(self._blocks) - self.dropped]", "agents/test_requests.py"),
    Mutant("agents/prompting.py", "return self.dropped - dropped_before", "return self.dropped",
           "agents/test_requests.py"),
    Mutant("agents/answers.py", "if len(completion.texts) == 1:  # a backend", "if True:  #",
           "agents/test_requests.py"),
    Mutant("agents/navgpt/agent.py", 'max_tokens=80, stop=("\\n",)', "max_tokens=80",
           "agents/test_requests.py"),
    Mutant("agents/navgpt/agent.py", "messages, schema, settings.temperature, stop",
           "messages, schema, 0.5, stop",
           "agents/test_requests.py"),
    Mutant("agents/navgpt/agent.py", 'stop = () if schema else ("\\nObservation:",)', "stop = ()",
           "agents/test_requests.py"),
    Mutant("agents/velma/agent.py", "self.prompt, None, temperature, STOPS",
           "self.prompt, None, temperature, ()", "agents/test_requests.py"),
    Mutant("agents/velma/agent.py", 'max_tokens=256, stop=("\\n\\n",)', "max_tokens=256",
           "agents/test_requests.py"),
    # The cache.
    Mutant("models/middleware/cache.py", "[self._inner.identity, completion_key",
           "[self._inner.name, completion_key", "runs/test_cached_answers.py"),
    Mutant("models/inspect.py", "[self._settings.base_url, self._settings.thinking]",
           "[self._settings.thinking]", "models/test_inspect.py"),
    # Rewards and standings over several steps and actors.
    Mutant("envs/environment.py", "game.trajectory.steps[first_new:])", "game.trajectory.steps)",
           "envs/test_rewards.py"),
    Mutant("envs/environment.py", "(*order[index + 1 :], *order[:index])", "order[index + 1 :]",
           "envs/test_rewards.py"),
    Mutant("envs/rewards.py", "for step in steps if step.actor == self._actor]",
           "for step in steps]", "envs/test_rewards.py"),
    Mutant("envs/rewards.py", "weight * self._term(name, game, turns)",
           "self._term(name, game, turns)", "envs/test_rewards.py"),
    Mutant("envs/rewards.py", "self._conditions = self._conditions, self._met_share(game)",
           "_ = self._conditions, self._met_share(game)", "envs/test_rewards.py"),
    Mutant("envs/rewards.py", "before, self._progress = self._progress, covered",
           "before = self._progress", "envs/test_rewards.py"),
    Mutant("envs/rewards.py", "0.0 if game.ended else covered", "covered",
           "envs/test_rewards.py"),
    Mutant("envs/rewards.py", "if not (game.world.done(self._actor) and game.ended):",
           "if not game.ended:", "envs/test_rewards.py"),
    Mutant("envs/rewards.py", "return copy.copy(self)",
           "return self", "envs/test_rewards.py"),
    Mutant("envs/game.py", "self._standing[0] == len(trajectory.steps):", "self._standing[0] >= 0:",
           "envs/test_rewards.py"),
    Mutant("envs/game.py", "self._plans = {step.actor: plan} if followed else {}",
           "self._plans |= {step.actor: plan} if followed else {}", "envs/test_rewards.py"),
    Mutant("core/game.py", "number = min(", "number = max(", "core/test_game.py"),
    Mutant("core/game.py", 'return "stopped" if all(map(', 'return "stopped" if any(map(',
           "core/test_game.py core/test_one_game.py"),
    # One episode, whoever plays it.
    Mutant("core/game.py", "        decision = legal(decision, self.space(actor))\n", "",
           "runs/test_one_episode.py"),
    Mutant("core/game.py", "        self._spaces.clear()\n", "", "core/test_game.py"),
    Mutant("core/game.py", "        self._observations.clear()\n", "",
           "runs/test_one_episode.py"),
    Mutant("runs/running.py", "return _first(scores, record.scores, \"score\")", 'return ""',
           "runs/test_one_episode.py"),
    # Pages: rows that are filtered and sorted, colours.
    Mutant("viewer/library.py", "[key for key in chosen if isinstance(key, int)]",
           "range(1, len(chosen) + 1)", "viewer/test_viewer_library.py"),
    Mutant("viewer/library.py", "| {*texts}", "| set()", "viewer/test_viewer_search.py"),
    Mutant("viewer/library.py", "if not wish.ranges and wish.ended in", "if wish.ended in",
           "viewer/test_viewer_library.py"),
    Mutant("runs/index.py", "-values if down else values", "values",
           "viewer/test_viewer_library.py"),
    Mutant("runs/index.py", "((column < high) | (last & (column == high)))", "(column <= high)",
           "viewer/test_viewer_library.py"),
    Mutant("viewer/compare.py", 'gap.mean < 0 if metric.better == "lower" else gap.mean > 0',
           "gap.mean > 0", "viewer/test_viewer_compare.py"),
    Mutant("viewer/compare.py", "if (low > 0 or high < 0) and metric.better else",
           "if metric.better else",
           "viewer/test_viewer_compare.py"),
    Mutant("viewer/compare.py", "if (low > 0 or high < 0) and metric.better else",
           "if low > 0 or high < 0 else",
           "viewer/test_viewer_compare.py"),
    # Grounds, labels, thresholds, searches.
    Mutant("worlds/objectnav/ground.py", "(abs(y - o.y) >= o.depth / 2 + radius)",
           "(abs(y - o.y) >= o.width / 2 + radius)", "worlds/objectnav/test_ground.py"),
    Mutant("worlds/objectnav/ground.py", "(abs(x - o.x) >= o.width / 2 + radius)",
           "(abs(x - o.x) >= o.depth / 2 + radius)", "worlds/objectnav/test_ground.py"),
    Mutant("worlds/objectnav/ground.py", "for d in scene.doors if not d.open]",
           "for d in scene.doors if d.open]", "worlds/objectnav/test_ground.py"),
    Mutant("datasets/sources/alfred.py", 'if name.partition("|")[0] == label',
           "if name.startswith(label)", "datasets/test_alfred_records.py"),
    Mutant("datasets/sources/alfred.py", "if old_labels.get(r.id, r.label) == label)",
           "if old_labels.get(r.id, r.label).startswith(label))",
           "datasets/test_alfred_records.py"),
    Mutant("agents/search/searcher.py", "detection.score < self.settings.grounding_threshold",
           "detection.score <= self.settings.grounding_threshold",
           "agents/test_searching_agents.py"),
    Mutant("agents/search/searcher.py", "grounding_threshold: float = 0.85",
           "grounding_threshold: float = 0.8", "agents/test_searching_agents.py"),
    Mutant("worlds/babyai/world.py", "> name_count or goal[0] in self.explored,",
           "> name_count and goal[0] in self.explored,", "worlds/babyai/test_actions.py"),
    Mutant("worlds/babyai/world.py", "< height and front not in self.explored", "< height",
           "worlds/babyai/test_actions.py"),
    # Records from others, and what a run costs.
    Mutant("runs/opening.py",
           '    if dataset.live:\n        vars(dataset)["world"] = _refuse_robot\n',
           "",
           "runs/test_forgeries.py::test_a_run_with_a_robot_is_never_replayed"),
    Mutant("runs/opening.py", "    if current != recorded:",
           "    if recorded and current != recorded and False:", "runs/test_opening.py"),
    Mutant("runs/opening.py",
           'trusted_part("dataset", name, identity["dataset_checksum"], trusted)',
           "name",
           "runs/test_opening.py"),
    Mutant("runs/opening.py", 'if name in registry.names("perceiver"):',
           "if name:", "runs/test_opening.py"),
    Mutant("runs/opening.py", 'values = _with_files(cls.Settings, values, "perceiver", trusted)',
           "values = dict(values)", "runs/test_opening.py"),
    Mutant("runs/opening.py", '"perturb": identity["perturb"]}',
           '"perturb": {}}', "runs/test_opening.py"),
    Mutant("runs/opening.py",
           "if (kind, name) in registry.CLASSES or name in registry.names(kind):",
           "if name in registry.names(kind):",
           "runs/test_opening.py"),
    Mutant("runs/opening.py", "if checksum and source_checksum(kind, path) == checksum:",
           "if source_checksum(kind, path) == checksum or not checksum:", "runs/test_opening.py"),
    Mutant("runs/opening.py", "if checksum and source_checksum(kind, path) == checksum:",
           "if checksum:", "runs/test_opening.py"),
    Mutant("runs/opening.py", "if checksum or _is_file_name(name):",
           "if _is_file_name(name):", "runs/test_opening.py"),
    Mutant("runs/opening.py", "name = PureWindowsPath(str(named)).name",
           "name = Path(str(named)).name", "runs/test_opening.py"),
    Mutant("runs/opening.py", "            if not own:\n",
           "            if not trusted:\n", "runs/test_opening.py"),
    Mutant("runs/opening.py", "values[key] = str(own[0])",
           "pass", "runs/test_opening.py"),
    Mutant("runs/opening.py", 'name.endswith((".py", ".yaml", ".yml"))',
           'name.endswith((".py", ".yaml"))', "runs/test_opening.py"),
    Mutant("runs/opening.py", "if Path(text).absolute() not in own:",
           "if not own:", "runs/test_opening.py"),
    Mutant("runs/opening.py", "    values += _texts(recipe.settings)\n",
           "", "runs/test_opening.py"),
    Mutant("runs/opening.py", "*recipe.actors.values()]",
           "]", "runs/test_opening.py"),
    Mutant("runs/opening.py", 'for word in re.split(r"[,=\\s]+", value):',
           "for word in [value]:", "runs/test_opening.py"),
    Mutant("runs/opening.py",
           "        yield from (str(settings[key]) for key in keys if settings.get(key))\n",
           "        yield from ()\n",
           "runs/test_opening.py"),
    Mutant("runs/opening.py",
           "    elif isinstance(value, list | tuple):\n",
           "    elif False:\n",
           "runs/test_opening.py"),
    Mutant("core/shapes.py", "_MOST_DIGITS = 19",
           "_MOST_DIGITS = 20", "core/test_shapes.py"),
    Mutant("core/shapes.py", "parse_int=_parse_integer",
           "parse_int=int", "core/test_shapes.py"),
    Mutant("core/shapes.py", "    except RecursionError:",
           "    except ZeroDivisionError:", "core/test_shapes.py"),
    Mutant("core/shapes.py", "if type(value) not in types:",
           "if not isinstance(value, types):", "core/test_shapes.py"),
    Mutant("core/shapes.py", 'value is None and not rule.endswith("*")',
           "value is None", "core/test_shapes.py"),
    Mutant("core/shapes.py", "complete[name] = copy(example)",
           "complete[name] = example", "core/test_shapes.py"),
    Mutant("core/shapes.py", "if is_inside and not is_number and",
           "if is_inside and", "core/test_shapes.py"),
    Mutant("models/middleware/ledger.py",
           "if reserved is not None and row.tokens and not row.lost:",
           "if reserved is not None and row.tokens:",
           "models/test_ledger.py"),
    Mutant("models/middleware/ledger.py",
           "if reserved is not None and row.tokens and not row.lost:",
           "if reserved is not None and not row.lost:",
           "models/test_ledger.py"),
    Mutant("models/middleware/ledger.py",
           "row.seconds or max(0.0, self._last[row.session] - row.at)",
           "row.seconds",
           "models/test_ledger.py"),
    Mutant("models/middleware/ledger.py", "_WORKS_ON = 2.5",
           "_WORKS_ON = 1.0", "models/test_ledger.py"),
    Mutant("models/middleware/ledger.py",
           "for each in finished if each.kind == kind] or finished",
           "for each in finished]", "models/test_ledger.py"),
    Mutant("models/middleware/ledger.py", "cost += max(0.0, reserved - cost) / len(similar) ** 2",
           "cost += 0.0", "models/test_ledger.py"),
    Mutant("models/middleware/ledger.py", "deviation / sqrt(estimates)",
           "0.0", "models/test_ledger.py"),
    Mutant("models/middleware/ledger.py",
           "costs[number] = min(reserved, cost)",
           "costs[number] = cost",
           "models/test_ledger.py"),
    Mutant("models/middleware/ledger.py", "self._ended.append((request.seconds, costs[number]))",
           "pass", "models/test_ledger.py"),
    Mutant("models/middleware/ledger.py",
           "            longer_cost += costs[number]\n            longer += 1\n",
           "",
           "models/test_ledger.py"),
    Mutant("models/middleware/ledger.py",
           "1.0 - strength * (1.0 - max(0.0, 2.0 * share_late - 1.0))",
           "max(0.0, 2.0 * share_late - 1.0)",
           "models/test_ledger.py"),
    Mutant("models/middleware/ledger.py",
           "1.0 - strength * (1.0 - max(0.0, 2.0 * share_late - 1.0))",
           "1.0",
           "models/test_ledger.py"),
    Mutant("models/middleware/ledger.py",
           "return 1.0 + (_WORKS_ON - 1.0) / sqrt(max(1, self.samples))",
           "return _WORKS_ON",
           "models/test_ledger.py"),
    Mutant("models/middleware/budget.py", "call.share += share",
           "call.share = share", "models/test_accounts.py"),
    Mutant("models/middleware/budget.py", "(self.pending + 1) * cap",
           "self.pending * cap", "models/test_accounts.py"),
    Mutant("models/middleware/budget.py", "tokens=max(0, row.tokens)",
           "tokens=row.tokens", "models/test_accounts.py"),
    Mutant("models/middleware/budget.py", "self.unpriced += cost.dollars is None",
           "self.unpriced += 0", "models/test_accounts.py"),
    Mutant("models/middleware/budget.py", "        if call.billed:\n            self.check()\n",
           "", "models/test_accounts.py"),
    Mutant("models/middleware/budget.py", "return max(shares)",
           "return min(shares)", "models/test_accounts.py"),
    Mutant("models/middleware/budget.py", "        if ended is not None and complete:",
           "        if ended is not None:", "models/test_accounts.py"),
    Mutant("models/middleware/budget.py",
           "            for request in [*call.requests.values()]:\n",
           "            for request in list[LedgerRow]():\n",
           "models/test_accounts.py"),
    Mutant("models/middleware/budget.py",
           "before if now is None else before.higher(now)",
           "now",
           "runs/test_money.py::test_prices_that_fall_between_sessions_are_named_and_the_higher_ones_count"),
    Mutant("models/middleware/budget.py", "last_tenth = (1.0 - _CONFIDENCE)",
           "last_tenth = _CONFIDENCE", "models/test_accounts.py"),
    Mutant("runs/ray_engine.py",
           "                self.end(False, meter)\n",
           "                self.end(True, meter)\n",
           "runs/test_ray_engine.py::test_a_dead_process_ends_its_calls_and_episodes"),
    Mutant("runs/ray_engine.py",
           "            self.landed(call.name)\n\n    async def turn",
           "            pass\n\n    async def turn",
           "runs/test_ray_engine.py::test_a_dead_process_ends_its_calls_and_episodes"),
    Mutant("runs/ray_engine.py",
           "and meter.turns < copy.turns:",
           "and meter.turns > copy.turns:",
           "runs/test_ray_engine.py::test_a_dead_process_ends_its_calls_and_episodes"),
    Mutant("runs/verify.py", "        if game.ended != recorded.ended:",
           "        if False:", "runs/test_forgeries.py::test_a_forgery_is_refused"),
    Mutant("runs/verify.py", "state or self._verdict_difference(task, recorded)",
           "state", "runs/test_forgeries.py::test_verdicts_of_trials_are_judged_again"),
    Mutant("runs/index.py",
           "return {*self.ids(), *self.failed()}",
           "return {*self.ids()}",
           "runs/test_forgeries.py::test_a_failed_episode_is_part_of_the_set"),
    Mutant("runs/verify.py",
           "                if actor != step.actor:",
           "                if False:",
           "runs/test_forgeries.py::test_turns_in_another_order_are_refused"),
    Mutant("runs/verify.py",
           '        yield f"run.json: field \'caveats\' lacks {lacking[0]!r}"',
           '        yield ""',
           "runs/test_forgeries.py::test_caveats_of_the_dataset_cannot_be_left_out"),
    # Keys of cached answers, rates and waits, goals, streets and levels.
    Mutant("models/middleware/cache.py", "[message.role, message.content, images]",
           "[message.content, images]",
           "models/test_cache.py"),
    Mutant("runs/diagnosis.py", "self.history[step - 1] = conditions(",
           "self.history[step] = conditions(",
           "viewer/test_condition_history.py"),
    Mutant("agents/legal.py", 'instead|rather|unless|maybe|perhaps)\\b")',
           'instead|rather|unless)\\b")',
           "agents/test_answer_forms.py"),
    Mutant("bench/horizon.py",
           "if above and above[-1] == len(lengths) - 1:",
           "if False:",
           "bench/test_horizon.py"),
    Mutant("worlds/household/goals.py", 'for other in self.others} - {""}',
           'for other in self.others}',
           "worlds/household/test_next_to_nowhere.py"),
    Mutant("worlds/household/entities.py", "            self.bottom[member] += dz\n",
           "            self.bottom[member] += dz if member == i else 0\n",
           "worlds/household/test_moved_contents.py"),
    Mutant("worlds/household/goals.py", "math.dist(self.at, (x, y)) <= self.within",
           "max(abs(self.at[0] - x), abs(self.at[1] - y)) <= self.within",
           "worlds/household/test_goals.py"),
    Mutant("worlds/household/goals.py", "min(self.parts, max(counts.values(), default=0))",
           "min(self.parts, sum(counts.values()))",
           "worlds/household/test_goals.py"),
    Mutant("worlds/household/goals.py", "for r in chain[levels[0] + 1 :])",
           "for r in chain)",
           "worlds/household/test_goals.py"),
    Mutant("worlds/household/goals.py", 'if is_near and state["objects"][lamp]["on"]:',
           'if is_near:',
           "worlds/household/test_goals.py"),
    Mutant("worlds/street/moves.py",
           "ahead = [edge for edge in edges if self._targets[edge] != previous]",
           "ahead = list(edges)",
           "worlds/street/test_moves.py"),
    Mutant("worlds/street/moves.py", 'return ahead[0] if word == "left" else ahead[-1]',
           'return ahead[-1] if word == "left" else ahead[0]',
           "worlds/street/test_moves.py"),
    Mutant("worlds/street/moves.py", "if closeness > best:",
           "if closeness >= best:",
           "worlds/street/test_moves.py"),
    Mutant("worlds/babyai/world.py", "or held.color != obj.color:",
           ":",
           "worlds/babyai/test_actions.py"),
    Mutant("worlds/babyai/world.py", "abs(front[0] - place[0]) + abs(front[1] - place[1]) == 1",
           "max(abs(front[0] - place[0]), abs(front[1] - place[1])) == 1",
           "worlds/babyai/test_actions.py"),
    Mutant("worlds/household/house.py", "        self.names.forget(snapshot.names)\n",
           "",
           "worlds/household/test_failures.py"),
    Mutant("models/middleware/cache.py", "key = digest([key, self._counts[key] - 1])",
           "key = digest([key, 0])",
           "models/test_cache.py"),
    Mutant("models/middleware/cache.py", 'not {"tool_calls", "content_filter", "error"}',
           'not {"tool_calls", "error"}',
           "models/test_cache.py"),
    Mutant("models/middleware/cache.py", "replace(answer, cost=0.0, cached=True)\n        except",
           "replace(answer, cached=True)\n        except",
           "models/test_cache.py"),
    Mutant("models/middleware/cache.py", "and may_run and abs(now - since) < CLAIM_SECONDS:",
           "and may_run:",
           "models/test_cache.py"),
    Mutant("models/middleware/cache.py",
           "[i.media_type, i.pixels or hashlib.sha256(i.data).hexdigest()]",
           "[i.media_type]",
           "models/test_cache.py"),
    Mutant("models/middleware/rate.py", "max(1.0, self._rate * 6.0)",
           "max(1.0, self._rate * 60.0)",
           "models/test_rates.py"),
    Mutant("models/middleware/rate.py", "return retry_after + min(backoff, 1.0)",
           "return min(backoff, 1.0)",
           "models/test_rates.py"),
    Mutant("models/middleware/rate.py",
           "                self._failures = 0\n                self._outage.answered()",
           "                self._outage.answered()",
           "models/test_rates.py"),
    Mutant("models/middleware/rate.py",
           "is_patient = self._outage.seconds <= self._policy.patience",
           "is_patient = True",
           "models/test_limits.py"),
    Mutant("bench/outcomes.py",
           "in {failure.episode_id for failure in run.failures()} - set(finished)",
           "in set[str]()",
           "bench/test_card_forgeries.py"),
    Mutant("models/middleware/rate.py", "if fatal and not self._answered:",
           "if False:",
           "models/test_rates.py"),
    Mutant("models/middleware/rate.py", "usage=answer.usage + waste)",
           "usage=answer.usage)",
           "models/test_rates.py"),
    Mutant("worlds/household/house.py",
           "            return 0.0\n        t = self.entities",
           "            pass\n        t = self.entities",
           "worlds/household/test_moved_contents.py"),
    Mutant("runs/diagnosis.py", "self.history[step - 1] = level.conditions()",
           "self.history[step] = level.conditions()",
           "viewer/test_condition_history.py"),
    Mutant("verbalize/household.py",
           "    for held in view.holding:\n        known.forget(held.name)\n", "",
           "verbalize/test_household.py"),
    Mutant("verbalize/household.py",
           "            is_same = is_same and self._holders.get(seen.name) == holder\n", "",
           "verbalize/test_household.py"),
    Mutant("verbalize/objectnav.py",
           "(height > OBSTACLE_HEIGHTS[0]) & (height < OBSTACLE_HEIGHTS[1])",
           "(height > OBSTACLE_HEIGHTS[0])", "verbalize/test_objectnav.py"),
    # Models of roles, shared datasets, classes of notebooks, addresses.
    Mutant("runs/opening.py", 'f"{name} {sorted(given.items())!r}"', 'f"{name}"',
           "runs/test_roles.py"),
    Mutant("runs/opening.py", "if not options and name == plan.model:", "if not options:",
           "runs/test_roles.py"),
    Mutant("runs/opening.py", "repr((cls, split, folder, settings, wrappers))",
           "repr((cls, split, folder, settings))", "runs/test_shared_datasets.py"),
    Mutant("runs/identity.py", "return code.co_code, constants, code.co_names",
           "return code.co_code, constants", "runs/test_class_checksums.py"),
    Mutant("runs/identity.py", "if dataset.family.name not in parts.cls.sightless:", "if True:",
           "runs/test_caveats.py"),
    Mutant("runs/identity.py", "localhost|", "", "runs/test_identity.py"),
    # Trials, late calls, prices, pooled levels.
    Mutant("runs/verify.py", 'parts = [identity, *identity["actors"].values()]',
           "parts = [identity]", "runs/test_verified_trials.py"),
    Mutant("runs/verify.py",
           '"was played again after a success" if trial.verdict.succeeded else ""',
           '""', "runs/test_verified_trials.py"),
    Mutant("runs/verify.py", "if tried >= of:", "if tried > of:", "runs/test_verified_trials.py"),
    Mutant("models/middleware/budget.py", "if self.used >= 1.0 and not call.late:",
           "if self.used >= 1.0:", "models/test_accounts.py"),
    Mutant("models/middleware/prices.py", "key=lambda n: (n == model, len(n))", "key=len",
           "models/test_prices.py"),
    Mutant("bench/horizon.py", "weights=np.maximum(1, tried),", "weights=np.ones(len(tried)),",
           "bench/test_horizon.py"),
    Mutant("bench/verify.py", '"prompts_checksum", "agent_checksum",', '"agent_checksum",',
           "bench/test_card_forgeries.py"),
    # Causes, goal objects, ends.
    Mutant("metrics/mistakes/causes.py", "len(reached) - reached[::-1].index(True)",
           "reached.index(True) + 1", "metrics/test_causes.py"),
    Mutant("metrics/mistakes/causes.py", "stuck = steps[:-1][-_REPEATS:]",
           "stuck = steps[-_REPEATS:]", "metrics/test_causes.py"),
    Mutant("metrics/conditions.py", "hands = max(body", "hands = min(body",
           "metrics/test_goal_objects.py"),
    Mutant("metrics/mistakes/household.py", "evidence.history[max(n for n",
           "evidence.history[min(n for n", "metrics/test_goal_objects.py"),
    Mutant("metrics/mistakes/household.py", '{now, ""} & asked', "{now} & asked",
           "metrics/test_mistakes.py"),
    Mutant("metrics/mistakes/facts.py", 'names[-1:] == ["stop"]', '"stop" in names',
           "metrics/test_goal_objects.py"),
    # What is in what, lengths of prompts, final answers.
    Mutant("worlds/household/entities.py", "is_exposed = is_exposed and bool(self.open[holder])",
           "is_exposed = bool(self.open[holder])", "worlds/household/test_containment.py"),
    Mutant("worlds/household/entities.py", "len(self.contents(r)) >= capacity",
           "len(self.with_contents(r)) > capacity", "worlds/household/test_containment.py"),
    Mutant("agents/prompting.py", "self.limit - self.taken - tried)", "self.limit - self.taken)",
           "agents/test_prompt_budget.py"),
    Mutant("agents/prompting.py", "characters > 0 and not usage.estimated:", "characters > 0:",
           "agents/test_prompt_budget.py"),
    Mutant("agents/prompting.py", "len(each.verbatim or each.text)", "len(each.text)",
           "agents/test_prompt_budget.py"),
    Mutant("agents/answers.py", "if number == 0 and len(clause.split()) <= 2:",
           "if len(clause.split()) <= 2:", "agents/test_final_answers.py"),
    # Middle levels, objects in a hand, scenes after a refusal, two arrivals.
    Mutant("bench/ladders.py", "self.lengths[(len(self.lengths) - 1) // 2]",
           "self.lengths[len(self.lengths) // 2]", "bench/test_levels.py"),
    Mutant("agents/strategies/planner.py", "            self._room.pop(held.name, None)\n", "",
           "agents/test_planner.py"),
    Mutant("agents/navgpt/agent.py", "if not has_moved or not self._settings.history:",
           "if not self._settings.history:", "agents/test_navgpt.py"),
    Mutant("agents/answers.py", "if len(arrived) > 1 or not arrived <= ", "if not arrived <= ",
           "agents/test_navgpt.py"),
    # Rules that fresh changes broke unnoticed.
    Mutant("metrics/accounting.py", 'scores["cut_off"] = cut / len(taken)',
           'scores["cut_off"] = cut / len(calls)', "metrics/test_accounting.py"),
    Mutant("metrics/mistakes/causes.py", 'elif scores.get("ever_grounded") == 0.0:',
           'elif scores.get("ever_grounded", 0.0) == 0.0:', "metrics/test_causes.py"),
    Mutant("metrics/mistakes/causes.py", "if len(points) == len(places):",
           "if points:", "metrics/test_causes.py"),
    Mutant("worlds/street/graph.py", "east = self.positions[:, 1] *",
           "east = self.positions[:, 0] *", "metrics/test_mistakes_of_walks.py"),
    Mutant("metrics/mistakes/objectnav.py", "key=lambda view: view[:2])",
           "key=lambda view: (view[0], -view[1]))", "metrics/test_mistakes_by_family.py"),
    Mutant("metrics/state_accuracy.py", "abs(relative(claimed, facing)) <= TOLERANCE",
           "abs(claimed - facing) <= TOLERANCE", "metrics/test_state_accuracy.py"),
    Mutant("agents/strategies/strategy.py", "lines.setdefault(about, []).append(head)",
           "lines.setdefault(head, []).append(head)", "agents/test_action_lines.py"),
    Mutant("agents/search/lgx.py", "angle = relative(heading, views[0].heading)",
           "angle = relative(heading, view.heading)", "agents/test_search_rules.py"),
    Mutant("agents/baselines/simple.py", "if self._moves_taken >= STREET_MOVES:",
           "if self._moves_taken > STREET_MOVES:", "agents/test_baselines.py"),
    Mutant("models/middleware/budget.py", "rough_tokens(prompt, self.pictures) * len(options)",
           "rough_tokens(prompt, self.pictures)", "models/test_prices.py"),
    Mutant("models/middleware/rate.py", "self._policy.waits_at_first and not error.fatal",
           "self._policy.waits_at_first", "models/test_rates.py"),
    Mutant("runs/record.py", "if tokens or dollars:",
           "if dollars:", "runs/test_merging.py"),
    Mutant("runs/reports.py", "for part in range(4)}",
           "for part in range(1, 4)}", "runs/test_reports.py"),
    Mutant("runs/verify.py", "if tried >= of:",
           "if tried > of:", "runs/test_records.py"),
    Mutant("bench/ladders.py", "                if name in clean_wins:\n",
           "                if clean_wins.setdefault(name, False) or True:\n",
           "bench/test_pairs.py"),
    Mutant("bench/horizon.py", "Interval(min(max(value, low), high), low, high)",
           "Interval(value, low, high)", "bench/test_edges.py"),
)  # fmt: skip


def main(words: list[str]) -> int:
    """Plant the changes that contain a word; 1 where one of them passes its tests."""
    chosen = [
        m for m in MUTANTS if not words or any(w in m.file + m.tests for w in words)
    ]
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "src" / "wayword"
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(
            ROOT / "src" / "wayword", package, ignore=ignored, copy_function=_link
        )
        clean = sorted({path for mutant in chosen for path in mutant.tests.split()})
        if _tested(package, " ".join(clean)) != "unseen":
            print("the tests fail without any change planted: mend them first")
            return 2
        found: Counter[str] = Counter()
        for mutant in chosen:
            verdict = _planted(package, mutant)
            found[verdict] += 1
            print(
                f"{verdict:6} {mutant.file}: {' '.join(mutant.before.split())}",
                flush=True,
            )
        print(
            ", ".join(f"{count} {verdict}" for verdict, count in sorted(found.items()))
        )
    return int(found["unseen"] > 0)


def _link(source: str, target: str) -> None:
    """A package has megabytes of weights, and only one file of it is changed."""
    os.symlink(source, target)


def _planted(package: Path, mutant: Mutant) -> str:
    """The verdict: ``gone``, or as :func:`_tested` gives it."""
    own = package / mutant.file
    texts = {path: path.read_text(encoding="utf-8") for path in package.rglob("*.py")}
    holders = [own] if mutant.before in texts.get(own, "") else [
        path for path, text in texts.items() if mutant.before in text
    ]  # fmt: skip
    if len(holders) != 1 or texts[holders[0]].count(mutant.before) != 1:
        return "gone"
    (path,) = holders
    original = path.resolve()
    path.unlink()
    path.write_text(texts[path].replace(mutant.before, mutant.after), encoding="utf-8")
    try:
        return _tested(package, mutant.tests)
    finally:
        path.unlink()
        _link(str(original), str(path))


def _tested(package: Path, tests: str) -> str:
    """``seen`` where a test fails on this copy of the package, ``broken`` where none could run."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    command += [str(ROOT / "tests" / path) for path in tests.split()]
    environment = {**os.environ, "PYTHONPATH": str(package.parent)}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, timeout=900
    )
    return {0: "unseen", 1: "seen"}.get(done.returncode, "broken")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
