"""Drives `BINARY mcp --http` with the official Python MCP client: calls every tool, reads resources and prompts, and
answers on the page when a change needs approval.

Usage: python_http_client.py BINARY

Each check prints one line. The last line counts them; the exit code is 1 if any failed.
"""

import asyncio
import contextlib
import json
import logging
import pathlib
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request

import httpx2
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult

from python_client import EXPECTED_VERSION, MODES, Checks, call_every_tool, error_code, make_project
from python_client import many_at_once, refuses_unknown_tools, text_of


class HttpServer:
    """A server at a port of its own, with the tokens of its clients."""

    def __init__(self, process, state):
        self.process = process
        self.url = process.stdout.readline().strip()
        self.secrets = json.loads((state / "toolkiln/web/secrets.json").read_text())

    def api(self, path, body=None):
        """Asks the service as the user who may approve."""
        address = urllib.parse.urljoin(self.url, path)
        data = None if body is None else json.dumps(body).encode()
        token = self.secrets["all"]
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        with urllib.request.urlopen(urllib.request.Request(address, data, headers)) as answer:
            return json.load(answer)

    @contextlib.asynccontextmanager
    async def client(self, mode, **options):
        """A client that may only ask."""
        headers = {"Authorization": f"Bearer {self.secrets['mcp']}"}
        async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
            transport = streamable_http_client(self.url, http_client=http)
            async with Client(transport, mode=mode, read_timeout_seconds=60, **options) as client:
                yield client


@contextlib.contextmanager
def served(binary, root, *flags):
    state = root.parent / "state"
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(root.parent), "XDG_STATE_HOME": str(state)}
    command = [binary, "mcp", "--http", "--port", "0", "--root", str(root), *flags]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            yield HttpServer(process, state)
        finally:
            process.terminate()


async def converse(server, root, mode, checks):
    async with server.client(mode) as client:
        version = client.protocol_version
        checks.that(f"[{mode}] speaks {version}", version == EXPECTED_VERSION[mode])
        tools = (await client.list_tools()).tools
        await call_every_tool(client, mode, root, tools, checks)
        await refuses_unknown_tools(client, mode, checks)
        await many_at_once(client, mode, checks)


async def read_along(server, root, mode, checks):
    """Resources, prompts and completion."""
    async with server.client(mode) as client:
        listed = (await client.list_resources()).resources
        names = {resource.name: resource.uri for resource in listed}
        checks.that(f"[{mode}] lists files that are not ignored", "src/main.rs" in names, names)
        checks.that(f"[{mode}] leaves out ignored files", "debug.log" not in names, names)
        read = (await client.read_resource(names["README.md"])).contents[0]
        checks.that(f"[{mode}] reads a file", read.text == text_of(root / "README.md"), read)
        templates = (await client.list_resource_templates()).resource_templates
        checks.that(f"[{mode}] has templates", len(templates) == 2, templates)
        try:
            await client.read_resource("file:///etc/passwd")
            checks.that(f"[{mode}] refuses other files", False)
        except MCPError as error:
            checks.that(f"[{mode}] refuses other files", error.code == -32602, error)
        prompts = [prompt.name for prompt in (await client.list_prompts()).prompts]
        expected = ["explore", "review_changes", "fix_tests", "explain"]
        checks.that(f"[{mode}] lists prompts", prompts == expected, prompts)
        prompt = await client.get_prompt("explain", {"path": "src/main.rs"})
        checks.that(f"[{mode}] fills in a prompt", "src/main.rs" in prompt.messages[0].content.text, prompt)


async def be_led_to_the_page(server, root, mode, checks):
    """The question is a link; the user answers where it leads."""
    links = []
    verdicts = [True, False]

    async def open_page(_, question):
        links.append(question.url)
        shown = question.url.rsplit("/", 1)[1]
        asked = server.api("/api/approvals")["questions"]
        owner = next(one["owner"] for one in asked if one["question"] == shown)
        path = f"/api/approvals/{urllib.parse.quote(owner)}/{shown}"
        await asyncio.to_thread(server.api, path, {"approve": verdicts[len(links) - 1]})
        return ElicitResult(action="accept")

    async with server.client(mode, elicitation_callback=open_page) as client:
        arguments = {"path": "own/append.txt", "content": "two\n"}
        result = await client.call_tool("append_file", arguments)
        checks.that(f"[{mode}] a change that is approved on the page is made", not result.is_error, result)
        result = await client.call_tool("append_file", arguments)
        checks.that(f"[{mode}] one that is denied is not", error_code(result) == "REJECTED", result)
        found = text_of(root / "own/append.txt")
        checks.that(f"[{mode}] the file has the first and not the second", found == "one\ntwo\n", repr(found))
        checks.that(f"[{mode}] there were two links", len(links) == 2, links)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    binary = str(pathlib.Path(sys.argv[1]).resolve())
    # It tells of every message that arrives while it leaves, which is no fault.
    logging.getLogger("mcp.client.streamable_http").setLevel(logging.CRITICAL)
    checks = Checks()
    for mode in MODES:
        for conversation, *flags in [(converse, "--yes"), (read_along,), (be_led_to_the_page,)]:
            with tempfile.TemporaryDirectory(prefix="toolkiln-") as directory:
                root = pathlib.Path(directory).resolve() / "project"
                make_project(root)
                try:
                    with served(binary, root, *flags) as server:
                        asyncio.run(conversation(server, root, mode, checks))
                except Exception as error:  # Whatever the client raises is a failed check.
                    checks.that(f"[{mode}] {conversation.__name__} ends well", False, repr(error))
    print(f"{checks.passed} passed, {checks.failed} failed")
    sys.exit(1 if checks.failed else 0)


if __name__ == "__main__":
    main()
