"""What both judges of telemetry need: a scripted model, and a conversation with it."""

import http.server
import json
import os
import pathlib
import subprocess
import tempfile
import threading
import time
import urllib.request

PATIENCE = 60
QUESTION = "What do the secret notes say?"
ANSWER = "They say: nothing."
# The span of a program that calls over MCP.
TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "00f067aa0ba902b7"


def server(handler):
    """A server on this machine; its address."""
    running = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    running.daemon_threads = True
    threading.Thread(target=running.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{running.server_address[1]}"


class Model(http.server.BaseHTTPRequestHandler):
    """Reads a file, and then answers; in the form of OpenAI's chat completions."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        has_read = any(message["role"] == "tool" for message in request["messages"])
        if has_read:
            delta, reason = {"content": ANSWER}, "stop"
        else:
            function = {"name": "read_file", "arguments": json.dumps({"path": "notes.txt"})}
            delta = {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]}
            reason = "tool_calls"
        usage = {"prompt_tokens": 120, "completion_tokens": 30, "total_tokens": 150}
        chunks = [
            {"choices": [{"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": None}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
            {"choices": [], "usage": usage},
        ]
        common = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": request["model"]}
        body = "".join(f"data: {json.dumps({**common, **chunk})}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


class Place:
    """A project, a state directory, and how the binary is started there."""

    def __init__(self, binary):
        self.binary = binary
        self.directory = tempfile.TemporaryDirectory()
        root = pathlib.Path(self.directory.name)
        self.project, self.state = root / "project", root / "state"
        self.project.mkdir()
        (self.project / "notes.txt").write_text("nothing\n")
        self.model = server(Model)

    def arguments(self, *words):
        model = ["--provider", "openai-chat", "--model", "scripted-1", "--base-url", f"{self.model}/v1"]
        return [self.binary, *words, *model, "--root", str(self.project)]

    def environment(self, **more):
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        own = {"XDG_STATE_HOME": str(self.state), "XDG_CONFIG_HOME": str(self.state), "OPENAI_API_KEY": "test-key"}
        return {**kept, **own, **more}

    def run(self, **variables):
        """`toolkiln run` to its end."""
        arguments = self.arguments("run", QUESTION)
        done = subprocess.run(
            arguments, env=self.environment(**variables), capture_output=True, text=True, timeout=PATIENCE
        )
        assert done.returncode == 0, done.stderr
        assert ANSWER in done.stdout, done.stdout

    def called(self, **variables):
        """`toolkiln mcp`, called once by a program that is traced."""
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "judge", "version": "1"}}
        meta = {"traceparent": f"00-{TRACE}-{SPAN}-01", "tracestate": "vendor=1"}
        call = {"name": "read_file", "arguments": {"path": "notes.txt"}, "_meta": meta}
        process = subprocess.Popen(
            [self.binary, "mcp", "--root", str(self.project)],
            env=self.environment(**variables),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number, (method, params) in enumerate([("initialize", hello), ("tools/call", call)], 1):
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()
            assert "result" in json.loads(process.stdout.readline())
        process.stdin.close()
        assert process.wait(PATIENCE) == 0

    def serve(self, **variables):
        """`toolkiln web`: the process, its address and a token."""
        arguments = self.arguments("web", "--listen", "127.0.0.1:0", "--log", "json")
        process = subprocess.Popen(
            arguments,
            env=self.environment(**variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        address = process.stdout.readline().split("/#code=")[0]
        secrets = json.loads((self.state / "toolkiln/web/secrets.json").read_text())
        return process, address, secrets["all"]


def ask(address, path, token=None, body=None):
    request = urllib.request.Request(address + path)
    if token:
        request.add_header("authorization", f"Bearer {token}")
    if body is not None:
        request.add_header("content-type", "application/json")
        request.data = json.dumps(body).encode()
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return answer.read().decode()


def turn(address, token):
    """One turn in a session of the service, to its end."""
    session = json.loads(ask(address, "/api/sessions", token, {}))["id"]
    ask(address, f"/api/sessions/{session}/messages", token, {"text": QUESTION})
    until(lambda: '"done"' in ask(address, f"/api/sessions/{session}/timeline", token), "the end of the turn")
    return session


def until(found, what):
    """The first thing that is found."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        value = found()
        if value:
            return value
        time.sleep(0.1)
    raise AssertionError(f"{what} does not come")
