"""LangSuitE's strategies, in every world: act, ReAct, ReAct-EmMem and Reflexion."""
