"""Drives `toolkiln acp` with the official Python client: a whole task with approval, refusal, cancel and reload.

Usage: python_client.py TOOLKILN
"""

import asyncio
import os
import sys
import tempfile
from pathlib import Path

import acp
from acp import schema

TEXT = "fn main() {\n    let oven = 1;\n}\n"
UNSAVED = TEXT.replace("1", "2")
EDIT = "/replace_in_file path=main.rs find={} replace={}"


class Editor(acp.Client):
    """Answers as the next of `answers` says, and keeps what it is shown."""

    def __init__(self):
        self.answers, self.updates, self.buffers, self.written = [], [], {}, []

    async def request_permission(self, session_id, tool_call, options, **_):
        assert any(part.type == "diff" for part in tool_call.content), tool_call
        wanted = self.answers.pop(0)
        option = next(option for option in options if option.kind == wanted)
        outcome = schema.AllowedOutcome(outcome="selected", option_id=option.option_id)
        return schema.RequestPermissionResponse(outcome=outcome)

    async def session_update(self, session_id, update, **_):
        self.updates.append(update)

    async def read_text_file(self, session_id, path, **_):
        text = self.buffers.get(path) or Path(path).read_text()
        return schema.ReadTextFileResponse(content=text)

    async def write_text_file(self, session_id, path, content, **_):
        self.written.append(path)
        self.buffers.pop(path, None)
        Path(path).write_text(content)

    def kinds(self):
        return [update.session_update for update in self.updates]


async def cancelled(agent, editor, session):
    """Cancels a command once it has begun to run."""
    command = [acp.text_block("/bash sleep 600")]
    running = asyncio.create_task(agent.prompt(session_id=session, prompt=command))
    while not any(getattr(update, "status", None) == "in_progress" for update in editor.updates):
        await asyncio.sleep(0.01)
    await agent.cancel(session_id=session)
    return (await running).stop_reason


async def task(program, project, env):
    editor = Editor()
    file = project / "main.rs"
    arguments = ["acp", "--provider", "offline"]
    async with acp.spawn_agent_process(editor, program, *arguments, env=env) as (agent, _):
        files = schema.FileSystemCapabilities(read_text_file=True, write_text_file=True)
        abilities = schema.ClientCapabilities(fs=files)
        told = await agent.initialize(protocol_version=acp.PROTOCOL_VERSION, client_capabilities=abilities)
        assert told.agent_capabilities.load_session and told.agent_info.name == "toolkiln", told
        session = (await agent.new_session(cwd=str(project), mcp_servers=[])).session_id

        async def say(text):
            answer = await agent.prompt(session_id=session, prompt=[acp.text_block(text)])
            assert answer.stop_reason == "end_turn", answer

        await say("/read_file main.rs")
        assert "tool_call" in editor.kinds() and "agent_message_chunk" in editor.kinds()
        editor.answers = ["reject_once"]
        await say(EDIT.format("oven", "kiln"))
        assert file.read_text() == TEXT
        editor.buffers[str(file)] = UNSAVED
        await say("/read_file main.rs")
        editor.answers = ["allow_once"]
        await say(EDIT.format("oven", "kiln"))
        assert file.read_text() == UNSAVED.replace("oven", "kiln"), file.read_text()
        assert editor.written == [str(file)]
        editor.updates.clear()
        assert await cancelled(agent, editor, session) == "cancelled"

    editor = Editor()
    async with acp.spawn_agent_process(editor, program, *arguments, env=env) as (agent, _):
        await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        listed = await agent.list_sessions(cwd=str(project))
        assert [info.session_id for info in listed.sessions] == [session], listed
        await agent.load_session(cwd=str(project), session_id=session, mcp_servers=[])
        shown = editor.kinds()
        assert shown.count("user_message_chunk") == 5 and shown.count("tool_call") == 5, shown


def main():
    with tempfile.TemporaryDirectory() as place:
        project = Path(place).resolve() / "project"
        project.mkdir()
        (project / "main.rs").write_text(TEXT)
        env = {"PATH": os.environ["PATH"], "XDG_STATE_HOME": f"{place}/state"}
        asyncio.run(asyncio.wait_for(task(str(Path(sys.argv[1]).resolve()), project, env), 120))
    print("the Python client is content")


main()
