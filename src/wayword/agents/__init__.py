"""A folder per agent, with its prompts. See ``wayword.core.registry``.

navgpt mapgpt discussnav velma  the recipes of papers (LGX is in search)
walker                        an indoor agent to fine-tune
search/                       lgx, frontier_llm, and the baselines frontier, prior, wander
strategies/                   act, react, react_emmem, reflexion, reflexion_emmem; planner, navcot,
                              tools (tool calls), plan_search (uses the simulator)
team                          scripted actors that work together
baselines/                    random, forward, imitation, imitation_preexplored (knows the scene);
                              oracle, gold, expert use ground truth
human                         a person at the terminal

Shared modules: prompting, answers, legal, clauses, person.
"""
