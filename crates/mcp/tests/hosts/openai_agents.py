"""Gives `BINARY mcp` to an agent of the OpenAI Agents SDK, whose model is a script.

Usage: openai_agents.py BINARY
"""

import asyncio
import json

from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from agents.mcp import MCPServerStdio, MCPUtil
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)
from project import run, server

# What the model calls, one call a request, before it ends with a text.
CALLS = [
    ("read_file", {"path": "README.md"}),
    ("grep", {"pattern": "fn main"}),
    ("append_file", {"path": "notes.txt", "content": "two\n"}),
    ("read_file", {"path": "missing.txt"}),
]


class Script(Model):
    """Makes the calls in order and keeps what each request held."""

    def __init__(self):
        self.requests = []

    async def get_response(self, system_instructions, input, model_settings, tools, *rest, **named):
        self.requests.append((input, tools))
        turn = len(self.requests) - 1
        if turn < len(CALLS):
            name, arguments = CALLS[turn]
            said = ResponseFunctionToolCall(
                type="function_call", call_id=f"call_{turn}", name=name, arguments=json.dumps(arguments)
            )
        else:
            text = ResponseOutputText(type="output_text", text="done", annotations=[], logprobs=[])
            said = ResponseOutputMessage(
                id="message", type="message", role="assistant", status="completed", content=[text]
            )
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *positional, **named):
        raise NotImplementedError("the run does not stream")


def outputs(model):
    """What the last request holds as results of calls, by the id of the call."""
    items = [item for item in model.requests[-1][0] if isinstance(item, dict)]
    results = [item for item in items if item.get("type") == "function_call_output"]
    return {item["call_id"]: str(item["output"]) for item in results}


async def work(binary, root, checks):
    arguments, homes = server(root, "--yes")
    parameters = {"command": binary, "args": arguments, "env": homes}
    async with MCPServerStdio(parameters, client_session_timeout_seconds=60) as tools:
        listed = await tools.list_tools()
        checks.that("the server lists tools", len(listed) > 20, len(listed))
        for strict in [False, True]:
            converted = await MCPUtil.get_all_function_tools([tools], strict, None, Agent(name="any"))
            checks.that(f"every tool is converted, strict={strict}", len(converted) == len(listed))
            if strict:
                # The SDK falls back, without an error, where a schema cannot be made strict: here, where
                # the names in an environment are free, and where there are none, which is not said to be closed.
                loose = sorted(tool.name for tool in converted if not tool.strict_json_schema)
                checks.that("all tools but two can be strict", loose == ["git_status", "run_code"], loose)
        model = Script()
        agent = Agent(name="scripted", model=model, mcp_servers=[tools])
        result = await Runner.run(agent, "Go.")
        checks.that("the run ends with the model's text", result.final_output == "done", result)
        shown = [tool.name for tool in model.requests[0][1]]
        checks.that("the model is shown every tool", len(shown) == len(listed), shown)
        found = outputs(model)
        checks.that("a read reaches the model", "A project" in found["call_0"], found)
        checks.that("a search reaches the model", "src/main.rs" in found["call_1"], found)
        checks.that("a failure reaches the model in words", "missing.txt" in found["call_3"], found)
        changed = (root / "notes.txt").read_text()
        checks.that("a change is made", changed == "one\ntwo\n", repr(changed))


def converse(binary, root, checks):
    set_tracing_disabled(True)
    asyncio.run(work(binary, root, checks))


run(converse, __doc__)
