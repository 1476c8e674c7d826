"""One agent a file; the file's name is its registered name. See ``wayword.core.registry``.

navgpt discussnav velma lgx              the recipes of four papers
act react react_emmem reflexion          LangSuitE's strategies, in every world
reflexion_emmem
walker                                   an indoor agent to fine-tune
random forward wander frontier prior     baselines
oracle gold expert team                  upper bounds that see the answer
human                                    a person at the terminal
parts/                                   what several agents share
prompts/                                 their texts, a folder an agent
"""
