"""Uses real MCP servers through the binary: each is added, confined, and called, by hand and by an agent whose model is a script.

Argument: the binary. The variable MCP_SERVER_MODULES names the `node_modules` with the servers for Node, MCP_BROWSER a Chromium;
the servers for Python lie beside this interpreter.
"""

import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading

BINARY, MODULES, BROWSER = (
    os.path.abspath(path) for path in (sys.argv[1], os.environ["MCP_SERVER_MODULES"], os.environ["MCP_BROWSER"]))
SCRIPTS = os.path.dirname(os.path.abspath(sys.executable))
VENV = os.path.dirname(SCRIPTS)
BASE = os.path.dirname(MODULES)
# The interpreter that the environment leads to; the system's own is seen anyway.
PYTHON = sys.base_prefix
READ = [word for path in (BASE, VENV, PYTHON) if path != "/usr" for word in ("--read", path)]

HOME = tempfile.mkdtemp()
PROJECT = os.path.join(HOME, "work", "project")
ENV = {"HOME": os.path.join(HOME, "home"), "PATH": os.environ["PATH"], "OPENAI_API_KEY": "test-key"}


def toolkiln(*arguments):
    return subprocess.run([BINARY, *arguments], cwd=PROJECT, env=ENV, capture_output=True, text=True, timeout=240)


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
    # It is confined already, and its own sandbox needs rights that nothing in ours has.
    "playwright": node("@playwright/mcp/cli.js", "--headless", "--isolated", "--no-sandbox",
                       "--executable-path", BROWSER),
}
# What Debian's Chromium reads before it starts.
CHROMIUM = "/etc/chromium.d"
NEEDS = {"playwright": ["--read", CHROMIUM] if os.path.isdir(CHROMIUM) else []}
NOTE = {"name": "kiln", "entityType": "thing", "observations": ["hot"]}
PAGE = "data:text/html,<title>Kiln</title><h1>Hot</h1><button onclick=\"document.title='Fired'\">Fire</button>"
# A tool, what it is called with, and what has to be in the answer.
CALLS = [
    ("everything__echo", {"message": "hi"}, "Echo: hi"),
    ("everything__get-structured-content", {"location": "New York"}, '"temperature"'),
    ("everything__get-tiny-image", {}, "[image, 20x20 pixels]"),
    ("everything__trigger-long-running-operation", {"duration": 1, "steps": 2}, "completed"),
    ("everything__trigger-elicitation-request", {}, "declined"),
    ("files__read_text_file", {"path": "{project}/a.txt"}, "hello"),
    ("files__write_file", {"path": "{project}/b.txt", "content": "x"}, "read-only file system"),
    ("memory__create_entities", {"entities": [NOTE]}, '"entities"'),
    ("memory__read_graph", {}, "kiln"),
    ("git__git_log", {"repo_path": "{project}", "max_count": 1}, "first"),
    ("time__get_current_time", {"timezone": "UTC"}, '"timezone":"UTC"'),
    # It has no network, and says so.
    ("fetch__fetch", {"url": "http://example.org"}, "failed"),
    ("playwright__browser_navigate", {"url": PAGE}, "Kiln"),
]
# What only makes sense while a server goes on: these come after the others in the conversation.
MORE = [
    ("playwright__browser_evaluate", {"function": "() => document.querySelector('button').click()"}, "Fired"),
    ("playwright__browser_take_screenshot", {"type": "png", "scale": "css"}, "[image, "),
]


def filled(arguments):
    return json.dumps(arguments).replace("{project}", PROJECT)


class Model(http.server.BaseHTTPRequestHandler):
    """Calls one tool after the other, in the form of OpenAI's chat completions."""

    protocol_version = "HTTP/1.1"
    answers = []

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        Model.answers = [message["content"] for message in request["messages"] if message["role"] == "tool"]
        calls = CALLS + MORE
        if len(Model.answers) < len(calls):
            name, arguments, _ = calls[len(Model.answers)]
            function = {"name": name, "arguments": filled(arguments)}
            call = {"index": 0, "id": f"call_{len(Model.answers)}", "type": "function", "function": function}
            delta, reason = {"tool_calls": [call]}, "tool_calls"
        else:
            delta, reason = {"content": "Done."}, "stop"
        common = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": request["model"]}
        choices = [{"delta": {"role": "assistant", **delta}, "finish_reason": None}, {"delta": {}, "finish_reason": reason}]
        body = "".join(f"data: {json.dumps({**common, 'choices': [{'index': 0, **choice}]})}\n\n" for choice in choices)
        body = (body + "data: [DONE]\n\n").encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def told(content):
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def converse():
    """All calls in one conversation, in which every server is started once."""
    model = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{model.server_address[1]}/v1"
    ran = toolkiln("run", "Use the tools.", "--yes", "--provider", "openai-chat", "--model", "scripted-1",
                   "--base-url", address)
    calls = CALLS + MORE
    assert len(Model.answers) == len(calls), f"{ran.stdout}{ran.stderr}"
    for (tool, _, expected), answer in zip(calls, Model.answers):
        assert expected in told(answer), f"{tool} in a conversation: {told(answer)[:2000]}"
    return len(calls)


def main():
    os.makedirs(PROJECT)
    os.mkdir(ENV["HOME"])
    with open(os.path.join(PROJECT, "a.txt"), "w") as file:
        file.write("hello\n")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
        subprocess.run([*git, *arguments], cwd=PROJECT, check=True)
    for name, command in SERVERS.items():
        added = toolkiln("mcp", "add", name, *READ, *NEEDS.get(name, []), "--", *command)
        assert added.returncode == 0, f"{name}: {added.stdout}{added.stderr}"
    for tool, arguments, expected in CALLS:
        called = toolkiln("call", tool, filled(arguments), "--yes")
        assert expected in called.stdout, f"{tool}: {called.stdout}{called.stderr}"
    by_agent = converse()
    assert not os.path.exists(os.path.join(PROJECT, "b.txt"))
    print(f"{len(SERVERS)} servers, {len(CALLS)} calls by hand and {by_agent} by an agent")


main()
