"""Drives `BINARY mcp` with the official Python MCP client: lists the tools, calls every one, and
answers when a change needs approval.

Usage: python_client.py BINARY

Each check prints one line. The last line counts them; the exit code is 1 if any failed.
"""

import asyncio
import pathlib
import subprocess
import sys
import tempfile
from typing import Any, NamedTuple

from mcp import Client, MCPError, StdioServerParameters
from mcp.types import ElicitResult

# The handshake, the client's own choice, and the stateless revision without asking first.
MODES = ["legacy", "auto", "2026-07-28"]
EXPECTED_VERSION = {"legacy": "2025-11-25", "auto": "2026-07-28", "2026-07-28": "2026-07-28"}

PROJECT = {
    ".gitignore": "*.log\n.venv\n",
    # Stands for what formats and installs Python, so that nothing has to be there or reached.
    ".venv/bin/python": "#!/bin/sh\necho \"python $*\"\n",
    "conftest.py": "",
    "checked/Makefile": "test:\n\t@echo 1..1; echo ok 1 - adds\n",
    "README.md": "# A project\n\nSee src.\n",
    "debug.log": "fn ignored() {}\n",
    "src/main.rs": "mod greeting;\n\nfn main() {\n    greeting::hello();\n}\n",
    "src/greeting.rs": 'pub fn hello() {\n    println!("hello");\n}\n',
    # Each tool that changes something has a file of its own.
    "own/append.txt": "one\n",
    "own/apply.txt": "one\n",
    "own/delete.txt": "one\n",
    "own/lines.txt": "one\ntwo\n",
    "own/move.txt": "one\n",
    "own/redo.txt": "one\n",
    "own/replace.txt": "one one\n",
    "own/rename.py": "def old_name(): pass\n",
    "own/undo.txt": "one\n",
    "own/update.txt": "one\n",
    "own/write.txt": "one\n",
}


class Row(NamedTuple):
    """How a tool is checked."""

    # Sensible arguments, and something the answer must hold.
    good: dict[str, Any]
    expected: str
    # Arguments that must fail after that, and the code they fail with.
    bad: dict[str, Any]
    code: str
    # What the files hold afterwards, None for one that is gone.
    after: dict[str, str | None] = {}
    # Calls that come first.
    before: list[tuple[str, dict[str, Any]]] = []


# A tool that is missing here is checked only for what holds for all.
CALLS = {
    "find_definition": Row(
        {"symbol": "main"}, "src/main.rs", {"symbol": "two words"}, "INVALID_ARGUMENTS"
    ),
    "find_references": Row(
        {"symbol": "main"}, "src/main.rs", {"symbol": ""}, "INVALID_ARGUMENTS"
    ),
    "outline": Row(
        {"path": "src"}, "fn main()", {"path": "src/missing.rs"}, "FILE_NOT_FOUND"
    ),
    "find_importers": Row(
        {"target": "src/greeting.rs"}, "mod greeting;", {"target": " "}, "INVALID_ARGUMENTS"
    ),
    "impact": Row({"target": "greeting"}, "src/main.rs", {"target": "no/such"}, "FILE_NOT_FOUND"),
    "glob": Row({"pattern": "**/*.rs"}, "src/greeting.rs", {"pattern": "["}, "INVALID_PATTERN"),
    "grep": Row({"pattern": r"fn \w+"}, "src/main.rs", {"pattern": "("}, "INVALID_PATTERN"),
    "list_directory": Row(
        {"path": "src"}, "greeting.rs", {"path": "README.md"}, "NOT_A_DIRECTORY"
    ),
    "search": Row({"query": "hello"}, "src/greeting.rs", {"query": "=>"}, "INVALID_ARGUMENTS"),
    "read": Row(
        {"file_paths": ["README.md", "src/main.rs"]},
        "A project",
        {"file_paths": []},
        "INVALID_ARGUMENTS",
    ),
    "read_file": Row(
        {"path": "src/main.rs"}, "fn main()", {"path": "src/missing.rs"}, "FILE_NOT_FOUND"
    ),
    "bash": Row(
        {"command": "cat src/main.rs"}, "fn main()", {"command": "ls", "working_dir": "no"}, "FILE_NOT_FOUND"
    ),
    "job": Row({"action": "list"}, "jobs", {"action": "output", "id": "x"}, "INVALID_ARGUMENTS"),
    "run_code": Row(
        {"language": "bash", "code": "echo $((6 * 7))"},
        "42",
        {"language": "bash", "code": "", "env": {"LD_PRELOAD": "x"}},
        "INVALID_ARGUMENTS",
    ),
    "run_tests": Row(
        {"path": "checked", "framework": "make"}, "'passed': 1", {"filter": "-x"}, "INVALID_ARGUMENTS"
    ),
    "format_code": Row(
        {"path": "own/rename.py"}, "black", {"path": "own/missing.py"}, "FILE_NOT_FOUND"
    ),
    "install_package": Row(
        {"packages": ["left-pad"], "manager": "pip"}, "left-pad", {"packages": ["-x"]}, "INVALID_ARGUMENTS"
    ),
    "git_status": Row({}, "'branch': 'main'", {"all": True}, "INVALID_ARGUMENTS"),
    "git_diff": Row({"commit": "HEAD"}, "files", {"commit": "-x"}, "INVALID_ARGUMENTS"),
    "git_log": Row({"limit": 2}, "First", {"commit": "no-such"}, "EXECUTION_ERROR"),
    "git_commit": Row(
        {"message": "Second", "paths": ["own/commit.txt"]},
        "1 file changed",
        {"message": "Nothing"},
        "EXECUTION_ERROR",
    ),
    "git_push": Row({"branch": "main"}, "refs/heads/main", {"branch": "+main"}, "INVALID_ARGUMENTS"),
    "append_file": Row(
        {"path": "own/append.txt", "content": "two\n"},
        "own/append.txt",
        {"path": "own/missing.txt", "content": "two\n"},
        "FILE_NOT_FOUND",
        after={"own/append.txt": "one\ntwo\n", "own/missing.txt": None},
    ),
    "apply_changes": Row(
        {
            "changes": [
                {"path": "own/apply.txt", "search": "one", "replace": "eins"},
                {"path": "own/applied.txt", "content": "new\n"},
            ]
        },
        "own/applied.txt",
        {
            "changes": [
                {"path": "own/applied.txt", "content": "newer\n"},
                {"path": "own/apply.txt", "search": "not in there", "replace": "x"},
            ]
        },
        "CONFLICT",
        after={"own/apply.txt": "eins\n", "own/applied.txt": "new\n"},
    ),
    "create_file": Row(
        {"path": "own/deep/created.txt", "content": "new\n"},
        "own/deep/created.txt",
        {"path": "README.md", "content": "new\n"},
        "CONFLICT",
        after={"own/deep/created.txt": "new\n", "README.md": PROJECT["README.md"]},
    ),
    "delete_file": Row(
        {"path": "own/delete.txt"},
        "own/delete.txt",
        {"path": "own/delete.txt"},
        "FILE_NOT_FOUND",
        after={"own/delete.txt": None},
    ),
    "edit_lines": Row(
        {"path": "own/lines.txt", "operation": "replace", "start_line": 2, "content": "zwei"},
        "+zwei",
        {"path": "own/lines.txt", "operation": "delete", "start_line": 99},
        "INVALID_RANGE",
        after={"own/lines.txt": "one\nzwei\n"},
    ),
    "move_file": Row(
        {"from": "own/move.txt", "to": "own/moved.txt"},
        "own/moved.txt",
        {"from": "own/move.txt", "to": "own/elsewhere.txt"},
        "FILE_NOT_FOUND",
        after={"own/move.txt": None, "own/moved.txt": "one\n"},
    ),
    "redo": Row(
        {},
        "own/redo.txt",
        {},
        "INVALID_ARGUMENTS",
        after={"own/redo.txt": "one\ntwo\n"},
        before=[("append_file", {"path": "own/redo.txt", "content": "two\n"}), ("undo", {})],
    ),
    "rename_symbol": Row(
        {"symbol": "old_name", "new_name": "new_name"},
        "'replacements': 1",
        {"symbol": "new_name", "new_name": "def"},
        "INVALID_ARGUMENTS",
        after={"own/rename.py": "def new_name(): pass\n"},
    ),
    "replace_in_file": Row(
        {"path": "own/replace.txt", "find": "one", "replace": "eins"},
        "'replacements': 2",
        {"path": "own/replace.txt", "find": "(", "replace": "x", "is_regex": True},
        "INVALID_PATTERN",
        after={"own/replace.txt": "eins eins\n"},
    ),
    "undo": Row(
        {},
        "own/undo.txt",
        {"change_id": "999999"},
        "INVALID_ARGUMENTS",
        after={"own/undo.txt": "one\n"},
        before=[("append_file", {"path": "own/undo.txt", "content": "two\n"})],
    ),
    "update_file": Row(
        {"path": "own/update.txt", "content": "all of it\n"},
        "own/update.txt",
        {"path": "own/missing.txt", "content": "x\n"},
        "FILE_NOT_FOUND",
        after={"own/update.txt": "all of it\n", "own/missing.txt": None},
    ),
    "write_file": Row(
        {"path": "own/write.txt", "content": "all of it\n"},
        "own/write.txt",
        {"path": "own/write.txt", "content": "!", "encoding": "base64"},
        "INVALID_ARGUMENTS",
        after={"own/write.txt": "all of it\n"},
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
    """The code of a failed call, by our own field, if the text says the same in words."""
    error = (result.meta or {}).get("toolkiln/error", {})
    return error.get("code") if result.content[0].text.startswith(error.get("message", "?")) else None


async def call_every_tool(client, mode, root, tools, checks):
    for tool in tools:
        label = f"[{mode}] {tool.name}"
        result = await client.call_tool(tool.name, {"no_such_argument": 1})
        named = error_code(result) == "INVALID_ARGUMENTS"
        checks.that(f"{label} refuses unknown arguments", result.is_error and named, result)
        if tool.name not in CALLS:
            continue
        good, expected, bad, code, after, before = CALLS[tool.name]
        for name, arguments in before:
            result = await client.call_tool(name, arguments)
            checks.that(f"{label} is prepared by {name}", not result.is_error, result)
        result = await client.call_tool(tool.name, good)
        content = result.structured_content
        checks.that(f"{label} answers", not result.is_error, result)
        checks.that(f"{label} has structured content", isinstance(content, dict), result)
        checks.that(f"{label} found {expected!r}", expected in str(content), content)
        checks.that(f"{label} left out ignored files", "ignored" not in str(content), content)
        result = await client.call_tool(tool.name, bad)
        checks.that(f"{label} fails with {code}", result.is_error and error_code(result) == code, result)
        for path, text in after.items():
            found = text_of(root / path)
            checks.that(f"{label} leaves {path} as it should be", found == text, repr(found))


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


def text_of(path):
    """What a file holds, None if it does not exist."""
    return path.read_text() if path.exists() else None


def server_for(binary, root, *flags):
    # The user's own rules must not decide, nor the journal end up among the user's files.
    homes = {f"XDG_{name}_HOME": str(root.parent / name) for name in ["CONFIG", "STATE"]}
    arguments = ["mcp", "--root", str(root), *flags]
    return StdioServerParameters(command=binary, args=arguments, env=homes)


async def converse(binary, root, mode, checks):
    server = server_for(binary, root, "--yes")
    async with Client(server, mode=mode, read_timeout_seconds=60) as client:
        version = client.protocol_version
        checks.that(f"[{mode}] speaks {version}", version == EXPECTED_VERSION[mode])
        tools = (await client.list_tools()).tools
        checks.that(f"[{mode}] lists tools", len(tools) > 0)
        for tool in tools:
            checks.that(f"[{mode}] {tool.name} has an output schema", tool.output_schema is not None)
            hints = tool.annotations
            checks.that(f"[{mode}] {tool.name} has hints", hints and hints.read_only_hint is not None)
        stale = set(CALLS) - {tool.name for tool in tools}
        checks.that(f"[{mode}] every row of the table is about a tool", not stale, stale)
        await call_every_tool(client, mode, root, tools, checks)
        await refuses_unknown_tools(client, mode, checks)
        await many_at_once(client, mode, checks)


async def be_asked(binary, root, mode, checks):
    """The client's user fills in the form, whichever way the question comes."""
    forms = []
    answers = [
        ElicitResult(action="accept", content={"decision": "once"}),
        ElicitResult(action="decline"),
        ElicitResult(action="accept", content={"decision": "deny", "note": "say it in German"}),
        ElicitResult(action="accept", content={"decision": "always"}),
    ]

    async def fill_in(_, form):
        forms.append(form)
        return answers[len(forms) - 1]

    async def append(text):
        return await client.call_tool("append_file", {"path": "own/append.txt", "content": text})

    def holds(name, text):
        found = text_of(root / "own/append.txt")
        checks.that(f"[{mode}] {name}", found == text, repr(found))

    server = server_for(binary, root)
    options = {"mode": mode, "read_timeout_seconds": 60, "elicitation_callback": fill_in}
    async with Client(server, **options) as client:
        result = await append("two\n")
        checks.that(f"[{mode}] an accepted change is made", not result.is_error, result)
        holds("an accepted change is in the file", "one\ntwo\n")
        checks.that(f"[{mode}] the form shows the diff", "\n one\n+two\n" in forms[0].message, forms)
        result = await append("three\n")
        unseen = error_code(result) == "APPROVAL_REQUIRED" and "may not have seen it" in result.content[0].text
        checks.that(f"[{mode}] a decline without a decision is not taken for the user's", unseen, result)
        result = await append("three\n")
        told = error_code(result) == "REJECTED" and "say it in German" in result.content[0].text
        checks.that(f"[{mode}] the model is told the reason", told, result)
        holds("a rejected change is not in the file", "one\ntwo\n")
        await append("drei\n")
        await append("vier\n")
        holds("a remembered yes is not asked for again", "one\ntwo\ndrei\nvier\n")
        checks.that(f"[{mode}] there were four questions", len(forms) == 4, forms)


async def be_unable_to_ask(binary, root, mode, checks):
    async with Client(server_for(binary, root), mode=mode, read_timeout_seconds=60) as client:
        result = await client.call_tool("delete_file", {"path": "README.md"})
    told = error_code(result) == "APPROVAL_REQUIRED" and "--yes" in result.content[0].text
    checks.that(f"[{mode}] a client that cannot ask is told what to do", told, result)
    checks.that(f"[{mode}] a client that cannot ask changes nothing", (root / "README.md").exists())


def make_project(root):
    for name, text in PROJECT.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / ".venv/bin/python").chmod(0o755)
    git = ["git", "-C", str(root), "-c", "init.defaultBranch=main"]
    for command in [
        ["init", "--quiet"],
        ["config", "user.name", "Ada"],
        ["config", "user.email", "ada@example.org"],
        ["init", "--quiet", "--bare", ".git/remote.git"],
        ["remote", "add", "origin", "./.git/remote.git"],
        ["add", "."],
        ["commit", "--quiet", "--message=First"],
    ]:
        subprocess.run(git + command, check=True)
    (root / "own/commit.txt").write_text("one\n")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    # The client starts the server with a directory and an environment of its own.
    binary = str(pathlib.Path(sys.argv[1]).resolve())
    checks = Checks()
    for mode in MODES:
        for conversation in [converse, be_asked, be_unable_to_ask]:
            # A fresh project each time, so that what was changed before does not matter.
            with tempfile.TemporaryDirectory(prefix="toolkiln-") as directory:
                root = pathlib.Path(directory).resolve() / "project"
                make_project(root)
                try:
                    asyncio.run(conversation(binary, root, mode, checks))
                except Exception as error:  # Whatever the client raises is a failed check.
                    name = conversation.__name__
                    checks.that(f"[{mode}] {name} ends well", False, repr(error))
    print(f"{checks.passed} passed, {checks.failed} failed")
    sys.exit(1 if checks.failed else 0)


if __name__ == "__main__":
    main()
