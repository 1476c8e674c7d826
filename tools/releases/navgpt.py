"""Run NavGPT's released agent on given answers and print its prompts.

Reads ``{"clone": …, "data": …, "model": …, "episodes": [{"item": …, "answers": […]}]}`` from stdin;
``data`` is a folder in the release's layout. LangChain is replaced by the few classes that the
agent uses, with the behavior of version 0.0.246, which the release requires.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from stubs import replace_packages


class PromptTemplate:
    """A template of ``str.format``, with some slots filled beforehand."""

    def __init__(
        self,
        template: str,
        input_variables: list[str],
        partial_variables: dict[str, str] | None = None,
    ) -> None:
        self._template = template
        self._partial = partial_variables or {}

    def format(self, **values: Any) -> str:
        return self._template.format(**{**self._partial, **values})


class ScriptedModel:
    """Gives answers in order and keeps the prompts."""

    def __init__(self, **settings: Any) -> None:
        self.answers: list[str] = []
        self.prompts: list[str] = []

    def ask(self, prompt: str) -> str:
        self.prompts.append(prompt)
        return self.answers[len(self.prompts) - 1]


class LLMChain:
    """A prompt and a model."""

    def __init__(self, llm: ScriptedModel, prompt: PromptTemplate) -> None:
        self._llm = llm
        self._prompt = prompt

    def predict(self, **values: Any) -> str:
        return self._llm.ask(self._prompt.format(**values))

    run = predict


@dataclass
class AgentAction:
    """A call of a tool; ``log`` is the full answer."""

    tool: str
    tool_input: str
    log: str


@dataclass
class AgentFinish:
    """The end of a run."""

    return_values: dict[str, str]
    log: str


class OutputParserException(ValueError):
    """An answer that cannot be parsed."""

    def __init__(
        self,
        error: str,
        observation: str | None = None,
        llm_output: str | None = None,
        send_to_llm: bool = False,
    ) -> None:
        super().__init__(error)
        self.observation = observation
        self.llm_output = llm_output
        self.send_to_llm = send_to_llm


@dataclass
class Tool:
    """A function with a name."""

    name: str
    func: Callable[..., str]
    description: str


class ZeroShotAgent:
    """The labels that LangChain puts between the steps."""

    observation_prefix = "Observation: "
    llm_prefix = "Thought:"
    _stop: tuple[str, ...] = ()

    def __init__(
        self, llm_chain: LLMChain, allowed_tools: list[str], output_parser: Any
    ) -> None:
        self.llm_chain = llm_chain
        self.output_parser = output_parser


class AgentExecutor:
    """Asks the agent and calls tools until it finishes, or for ``max_iterations``."""

    def __init__(self, agent: Any, tools: list[Tool], max_iterations: int) -> None:
        self.agent = agent
        self._tools = {tool.name: tool for tool in tools}
        self._max_iterations = max_iterations

    @classmethod
    def from_agent_and_tools(
        cls, agent: Any, tools: list[Tool], max_iterations: int, **settings: Any
    ) -> AgentExecutor:
        return cls(agent, tools, max_iterations)

    def __call__(self, inputs: dict[str, Any]) -> dict[str, Any]:
        steps: list[tuple[AgentAction, str]] = []
        output = "Agent stopped due to iteration limit or time limit."
        for _ in range(self._max_iterations):
            full = self.agent.get_full_inputs(steps, **inputs)
            full.pop("stop")
            answer = self.agent.llm_chain.predict(**full)
            try:
                parsed = self.agent.output_parser.parse(answer)
            except OutputParserException as error:
                observation = "Invalid or incomplete response"
                log = str(error)
                if error.send_to_llm:
                    observation = str(error.observation)
                    log = str(error.llm_output)
                steps.append((AgentAction("_Exception", observation, log), observation))
                continue
            if isinstance(parsed, AgentFinish):
                output = parsed.return_values["output"]
                break
            if parsed.tool in self._tools:
                observation = self._tools[parsed.tool].func(parsed.tool_input)
            else:
                observation = f"{parsed.tool} is not a valid tool, try another one."
            steps.append((parsed, observation))
        return {**inputs, "output": output, "intermediate_steps": steps}


def install_langchain() -> None:
    """Import LangChain's modules as those classes."""
    replace_packages("langchain", "networkx")
    names = {
        "langchain.agents.agent": (AgentExecutor, AgentAction),
        "langchain.agents.mrkl.base": (ZeroShotAgent,),
        "langchain.agents.tools": (Tool,),
        "langchain.chains": (LLMChain,),
        "langchain.prompts": (PromptTemplate,),
        "langchain.prompts.prompt": (PromptTemplate,),
        "langchain.schema": (AgentAction, AgentFinish, OutputParserException),
    }
    for name, classes in names.items():
        module = ModuleType(name)
        for each in classes:
            setattr(module, each.__name__, each)
        if name == "langchain.schema":
            module.BaseMessage = module.BaseOutputParser = object  # type: ignore[attr-defined]
        if name == "langchain.agents.agent":
            module.AgentOutputParser = object  # type: ignore[attr-defined]
        sys.modules[name] = module
    model = ModuleType("langchain.llms.openai")
    model.OpenAI = ScriptedModel  # type: ignore[attr-defined]
    sys.modules[model.__name__] = model


def prompts(given: dict[str, Any]) -> list[list[str]]:
    """The prompts of each episode."""
    sys.path.insert(0, f"{given['clone']}/nav_src")
    install_langchain()
    from agent import NavAgent
    from env import R2RNavBatch
    from parser import parse_args
    from utils.data import ImageObservationsDB

    folder = given["data"]
    sys.argv = ["NavGPT.py", "--root_dir", folder, "--output_dir", f"{folder}/out"]
    sys.argv += ["--llm_model_name", given["model"]]
    settings = parse_args()
    recorded = ImageObservationsDB(
        settings.obs_dir, settings.obs_summary_dir, settings.obj_dir
    )

    class Walk(R2RNavBatch):
        """Without the graphs, which are for scores."""

        def _load_nav_graphs(self) -> None:
            self.gt_trajs: dict[str, Any] = {}

    streams = []
    for episode in given["episodes"]:
        env = Walk(
            recorded, [episode["item"]], "", settings.navigable_dir, batch_size=1
        )
        agent = NavAgent(env, settings)
        agent.llm.answers = episode["answers"]
        agent.rollout()
        streams.append(agent.llm.prompts)
    return streams


if __name__ == "__main__":
    with redirect_stdout(sys.stderr):
        streams = prompts(json.load(sys.stdin))
    json.dump(streams, sys.stdout)
