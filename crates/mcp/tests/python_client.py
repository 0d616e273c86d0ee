"""Drives `BINARY mcp` with the official Python MCP client: lists the tools and calls every one.

Usage: python_client.py BINARY

Each check prints one line. The last line counts them; the exit code is 1 if any failed.
"""

import asyncio
import pathlib
import sys
import tempfile

from mcp import Client, MCPError, StdioServerParameters

# The handshake, the client's own choice, and the stateless revision without asking first.
MODES = ["legacy", "auto", "2026-07-28"]
EXPECTED_VERSION = {"legacy": "2025-11-25", "auto": "2026-07-28", "2026-07-28": "2026-07-28"}

PROJECT = {
    ".gitignore": "*.log\n",
    "README.md": "# A project\n\nSee src.\n",
    "debug.log": "fn ignored() {}\n",
    "src/main.rs": "mod greeting;\n\nfn main() {\n    greeting::hello();\n}\n",
    "src/greeting.rs": 'pub fn hello() {\n    println!("hello");\n}\n',
}

# For every tool: sensible arguments, something its answer must hold, and arguments that must fail
# with the code beside them. A tool that is listed and missing here fails the run.
CALLS = {
    "glob": ({"pattern": "**/*.rs"}, "src/greeting.rs", {"pattern": "["}, "INVALID_PATTERN"),
    "grep": ({"pattern": r"fn \w+"}, "src/main.rs", {"pattern": "("}, "INVALID_PATTERN"),
    "list_directory": (
        {"path": "src"},
        "greeting.rs",
        {"path": "README.md"},
        "NOT_A_DIRECTORY",
    ),
    "read": (
        {"file_paths": ["README.md", "src/main.rs"]},
        "A project",
        {"file_paths": []},
        "INVALID_ARGUMENTS",
    ),
    "read_file": (
        {"path": "src/main.rs"},
        "fn main()",
        {"path": "src/missing.rs"},
        "FILE_NOT_FOUND",
    ),
}


class Checks:
    """Counts what held and what did not."""

    def __init__(self):
        self.passed = 0
        self.failed = 0

    def that(self, name, holds, shown=""):
        if holds:
            self.passed += 1
            print(f"ok      {name}")
        else:
            self.failed += 1
            print(f"FAILED  {name}  {shown}")


def error_code(result):
    """The code of a failed call, by our own field, if the text agrees with it."""
    code = (result.meta or {}).get("toolkiln/error", {}).get("code")
    return code if code and result.content[0].text.startswith(f"{code}: ") else None


async def call_every_tool(client, mode, tools, checks):
    for tool in tools:
        label = f"[{mode}] {tool.name}"
        if tool.name not in CALLS:
            checks.that(f"{label} is in the table of calls", False)
            continue
        good, expected, bad, code = CALLS[tool.name]
        result = await client.call_tool(tool.name, good)
        content = result.structured_content
        checks.that(f"{label} answers", not result.is_error, result)
        checks.that(f"{label} has structured content", isinstance(content, dict), result)
        checks.that(f"{label} found {expected!r}", expected in str(content), content)
        checks.that(f"{label} left out ignored files", "ignored" not in str(content), content)
        result = await client.call_tool(tool.name, bad)
        checks.that(f"{label} fails with {code}", result.is_error and error_code(result) == code, result)
        result = await client.call_tool(tool.name, {"no_such_argument": 1})
        named = error_code(result) == "INVALID_ARGUMENTS"
        checks.that(f"{label} refuses unknown arguments", result.is_error and named, result)


async def refuses_unknown_tools(client, mode, checks):
    try:
        result = await client.call_tool("no_such_tool", {})
        checks.that(f"[{mode}] an unknown tool is a protocol error", False, result)
    except MCPError as error:
        checks.that(f"[{mode}] an unknown tool is a protocol error", error.code == -32602, error)


async def many_at_once(client, mode, checks):
    calls = [client.call_tool("read_file", {"path": "README.md"}) for _ in range(50)]
    results = await asyncio.gather(*calls)
    checks.that(f"[{mode}] 50 calls at once", not any(result.is_error for result in results))


async def converse(binary, root, mode, checks):
    server = StdioServerParameters(command=binary, args=["mcp", "--root", str(root)])
    async with Client(server, mode=mode, read_timeout_seconds=60) as client:
        version = client.protocol_version
        checks.that(f"[{mode}] speaks {version}", version == EXPECTED_VERSION[mode])
        tools = (await client.list_tools()).tools
        checks.that(f"[{mode}] lists tools", len(tools) > 0)
        for tool in tools:
            checks.that(f"[{mode}] {tool.name} has an output schema", tool.output_schema is not None)
            hints = tool.annotations
            checks.that(f"[{mode}] {tool.name} has hints", hints and hints.read_only_hint is not None)
        await call_every_tool(client, mode, tools, checks)
        await refuses_unknown_tools(client, mode, checks)
        await many_at_once(client, mode, checks)


def make_project(root):
    for name, text in PROJECT.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    # The client starts the server with a directory and an environment of its own.
    binary = str(pathlib.Path(sys.argv[1]).resolve())
    checks = Checks()
    for mode in MODES:
        # A fresh project each time, so that tools which change files begin alike.
        with tempfile.TemporaryDirectory(prefix="toolkiln-") as directory:
            root = pathlib.Path(directory).resolve() / "project"
            make_project(root)
            try:
                asyncio.run(converse(binary, root, mode, checks))
            except Exception as error:  # Whatever the client raises is a failed check.
                checks.that(f"[{mode}] the conversation ends well", False, repr(error))
    print(f"{checks.passed} passed, {checks.failed} failed")
    sys.exit(1 if checks.failed else 0)


if __name__ == "__main__":
    main()
