"""Uses real MCP servers through the binary: each is added, confined, and called once.

Argument: the binary. The variable MCP_SERVER_MODULES names the `node_modules` with the servers for Node; those for Python lie
beside this interpreter.
"""

import json
import os
import subprocess
import sys
import tempfile

BINARY, MODULES = (os.path.abspath(path) for path in (sys.argv[1], os.environ["MCP_SERVER_MODULES"]))
SCRIPTS = os.path.dirname(os.path.abspath(sys.executable))
VENV = os.path.dirname(SCRIPTS)
BASE = os.path.dirname(MODULES)
# The interpreter that the environment leads to; the system's own is seen anyway.
PYTHON = sys.base_prefix
READ = [word for path in (BASE, VENV, PYTHON) if path != "/usr" for word in ("--read", path)]

HOME = tempfile.mkdtemp()
PROJECT = os.path.join(HOME, "work", "project")
ENV = {"HOME": os.path.join(HOME, "home"), "PATH": os.environ["PATH"]}


def toolkiln(*arguments):
    return subprocess.run([BINARY, *arguments], cwd=PROJECT, env=ENV, capture_output=True, text=True, timeout=120)


def node(package, *arguments):
    return ["node", os.path.join(MODULES, package), *arguments]


SERVERS = {
    "everything": node("@modelcontextprotocol/server-everything/dist/index.js"),
    "files": node("@modelcontextprotocol/server-filesystem/dist/index.js", "{project}"),
    "memory": ["env", "MEMORY_FILE_PATH={data}/memory.jsonl",
               *node("@modelcontextprotocol/server-memory/dist/index.js")],
    "git": [os.path.join(SCRIPTS, "mcp-server-git"), "--repository", "{project}"],
    "time": [os.path.join(SCRIPTS, "mcp-server-time"), "--local-timezone", "UTC"],
    "fetch": [os.path.join(SCRIPTS, "mcp-server-fetch")],
}
NOTE = {"name": "kiln", "entityType": "thing", "observations": ["hot"]}
# A tool, what it is called with, and what has to be in the answer.
CALLS = [
    ("everything__echo", {"message": "hi"}, "Echo: hi"),
    ("everything__get-structured-content", {"location": "New York"}, '"temperature"'),
    ("everything__get-tiny-image", {}, "[image, 20x20 pixels]"),
    ("everything__trigger-long-running-operation", {"duration": 1, "steps": 2}, "completed"),
    ("everything__trigger-elicitation-request", {}, "declined"),
    ("files__read_text_file", {"path": "{project}/a.txt"}, "hello"),
    ("files__write_file", {"path": "{project}/b.txt", "content": "x"}, "read-only file system"),
    ("memory__create_entities", {"entities": [NOTE]}, "kiln"),
    ("memory__read_graph", {}, "kiln"),
    ("git__git_log", {"repo_path": "{project}", "max_count": 1}, "first"),
    ("time__get_current_time", {"timezone": "UTC"}, '"timezone":"UTC"'),
    # It has no network, and says so.
    ("fetch__fetch", {"url": "http://example.org"}, "failed"),
]


def main():
    os.makedirs(PROJECT)
    os.mkdir(ENV["HOME"])
    with open(os.path.join(PROJECT, "a.txt"), "w") as file:
        file.write("hello\n")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
        subprocess.run([*git, *arguments], cwd=PROJECT, check=True)
    for name, command in SERVERS.items():
        added = toolkiln("mcp", "add", name, *READ, "--", *command)
        assert added.returncode == 0, f"{name}: {added.stdout}{added.stderr}"
    for tool, arguments, expected in CALLS:
        arguments = json.dumps(arguments).replace("{project}", PROJECT)
        called = toolkiln("call", tool, arguments, "--yes")
        assert expected in called.stdout, f"{tool}: {called.stdout}{called.stderr}"
    assert not os.path.exists(os.path.join(PROJECT, "b.txt"))
    print(f"{len(SERVERS)} servers, {len(CALLS)} calls")


main()
