"""Lets other people's agents do a task with `BINARY mcp`, over standard streams and over HTTP: read a file, change it,
say so. The model is a script.

Usage: real_hosts.py BINARY MODULES [HOST]

MODULES is the `node_modules` that the agents are installed in. Each check prints one line; the exit code is 1 if any
failed. TOOLKILN_HOSTS_LOG names a file for what the agents say and ask.
"""

import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

WORD = "sesame-42"
READ = ("read_file", {"path": "notes.txt"})
APPEND = ("append_file", {"path": "notes.txt", "content": "second\n"})
# How long an agent may take for its task.
PATIENCE = 120
# A task takes three, and some agents ask for a title as well.
MOST_REQUESTS = 10


class ScriptedModel:
    """Reads, then appends, then is done; in the form that it is asked in."""

    def __init__(self):
        model = self
        self.has_appended = False
        self.asked = []
        self.told = ""

        class Handler(_Handler):
            scripted = model

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def next_call(self, request):
        """The tool to call, its arguments and its group; none to say that it is done."""
        text = json.dumps(request)
        self.told += text
        self.asked.append(len(text))
        wanted, arguments = READ if WORD not in text else APPEND
        # Agents have tools of their own by such names; some list those of a server in a group of its name.
        named = re.findall(rf'"name": "([\w.-]*toolkiln[\w.-]*{wanted})"', text)
        group = re.search(r'"name": "(\w*toolkiln)"', text)
        if self.has_appended or not (named or group) or len(self.asked) > MOST_REQUESTS:
            return None
        self.has_appended = wanted == APPEND[0]
        return (named[0], arguments, None) if named else (wanted, arguments, group[1])


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.answer("application/json", json.dumps({"data": [], "models": []}))

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])) or b"{}")
        if log := os.environ.get("TOOLKILN_HOSTS_LOG"):
            with open(log, "a") as file:
                file.write(f"{self.path} {json.dumps(request)}\n")
        call = self.scripted.next_call(request)
        if "/responses" in self.path:
            return self.events(responses(call), named=True)
        if "/messages" in self.path:
            if "count_tokens" in self.path:
                return self.answer("application/json", '{"input_tokens": 100}')
            return self.events(messages(call), named=True)
        if ":streamGenerateContent" in self.path:
            return self.events([gemini(call)])
        if ":generateContent" in self.path:
            return self.answer("application/json", json.dumps(gemini(call)))
        return self.events([*completions(call), "[DONE]"])

    def events(self, events, named=False):
        def line(event):
            name = f"event: {event['type']}\n" if named else ""
            return f"{name}data: {event if isinstance(event, str) else json.dumps(event)}\n\n"

        self.answer("text/event-stream", "".join(map(line, events)))

    def answer(self, kind, body):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.end_headers()
        try:
            self.wfile.write(body.encode())
        except OSError:
            pass  # The agent has gone.


def messages(call):
    """Anthropic Messages."""
    block = {"type": "text", "text": ""}
    delta = {"type": "text_delta", "text": "It is done."}
    if call:
        block = {"type": "tool_use", "id": f"toolu_{call[0][-11:]}", "name": call[0], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
    usage = {"input_tokens": 100, "output_tokens": 10}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
    return [
        {"type": "message_start", "message": {**message, "stop_reason": None, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use" if call else "end_turn"}, "usage": usage},
        {"type": "message_stop"},
    ]


def responses(call):
    """OpenAI Responses."""
    text = {"type": "output_text", "text": "It is done.", "annotations": []}
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]}
    if call:
        item = {"type": "function_call", "id": "fc_1", "call_id": f"call_{call[0][-11:]}", "status": "completed"}
        item |= {"name": call[0], "arguments": json.dumps(call[1])}
        item |= {"namespace": call[2]} if call[2] else {}
    usage = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
    whole = {"id": "resp_1", "object": "response", "status": "completed", "output": [item], "usage": usage}
    return [
        {"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    ]


def completions(call):
    """OpenAI Chat Completions."""
    delta = {"role": "assistant", "content": "It is done."}
    if call:
        function = {"name": call[0], "arguments": json.dumps(call[1])}
        delta = {"role": "assistant"}
        delta["tool_calls"] = [{"index": 0, "id": f"call_{call[0][-11:]}", "type": "function", "function": function}]
    chunk = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    end = {"index": 0, "delta": {}, "finish_reason": "tool_calls" if call else "stop"}
    return [{**chunk, "choices": [choice]}, {**chunk, "choices": [end], "usage": usage}]


def gemini(call):
    """Google's generateContent."""
    part = {"functionCall": {"name": call[0], "args": call[1]}} if call else {"text": "It is done."}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m"}


class Task:
    """A project, a home for the agent, and the way to the server. Without flags the server asks before it changes anything."""

    def __init__(self, directory, binary, way, flags=("--yes",), token="mcp"):
        self.home = directory / "home"
        self.root = directory / "project"
        self.home.mkdir()
        self.root.mkdir()
        (self.root / "notes.txt").write_text(f"{WORD}\n")
        subprocess.run(["git", "-C", str(self.root), "init", "--quiet"], check=True)
        self.state = directory / "state"
        self.arguments = ["mcp", "--root", str(self.root), *flags]
        self.binary, self.token_name = binary, token
        self.url = self.token = self.process = None
        if way == "HTTP":
            self.serve()

    def serve(self):
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home), "XDG_STATE_HOME": str(self.state)}
        command = [self.binary, *self.arguments, "--http", "--port", "0"]
        pipe, none = subprocess.PIPE, subprocess.DEVNULL
        self.process = subprocess.Popen(command, env=env, stdout=pipe, stderr=none, text=True)
        self.url = self.process.stdout.readline().strip()
        self.token = json.loads((self.state / "toolkiln/web/secrets.json").read_text())[self.token_name]

    def headers(self):
        return {"Authorization": f"Bearer {self.token}"}

    def close(self):
        if self.process:
            self.process.terminate()
            self.process.wait()


def claude_code(task, modules, model):
    server = {"command": task.binary, "args": task.arguments}
    if task.url:
        server = {"type": "http", "url": task.url, "headers": task.headers()}
    configured = json.dumps({"mcpServers": {"toolkiln": server}})
    program = modules / "@anthropic-ai/claude-code-linux-x64/claude"
    command = [program, "-p", "Do the task.", "--strict-mcp-config", "--mcp-config", configured]
    env = {
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "ENABLE_TOOL_SEARCH": "false",
    }
    return [*command, "--allowedTools", "mcp__toolkiln"], env


def codex(task, modules, model):
    lines = [
        'model = "m"',
        'model_provider = "scripted"',
        'approval_policy = "never"',
        "[model_providers.scripted]",
        'name = "scripted"',
        f'base_url = "{model.url}/v1"',
        'wire_api = "responses"',
        "[mcp_servers.toolkiln]",
        'default_tools_approval_mode = "approve"',
    ]
    if task.url:
        lines += [f'url = "{task.url}"', 'bearer_token_env_var = "TOOLKILN_MCP_TOKEN"']
    else:
        lines += [f'command = "{task.binary}"', f"args = {json.dumps(task.arguments)}"]
    (task.home / ".codex").mkdir()
    (task.home / ".codex/config.toml").write_text("\n".join(lines))
    program = modules / ".bin/codex"
    return [program, "exec", "--skip-git-repo-check", "Do the task."], {"TOOLKILN_MCP_TOKEN": task.token or ""}


def gemini_cli(task, modules, model):
    server = {"command": task.binary, "args": task.arguments, "trust": True}
    if task.url:
        server = {"httpUrl": task.url, "headers": task.headers(), "trust": True}
    settings = {
        "mcpServers": {"toolkiln": server},
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "general": {"disableAutoUpdate": True},
        "privacy": {"usageStatisticsEnabled": False},
    }
    (task.home / ".gemini").mkdir()
    (task.home / ".gemini/settings.json").write_text(json.dumps(settings))
    env = {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": model.url, "GEMINI_CLI_TRUST_WORKSPACE": "true"}
    command = [modules / ".bin/gemini", "--model", "gemini-2.5-flash", "--approval-mode", "yolo"]
    return [*command, "--prompt", "Do the task."], env


def opencode(task, modules, model):
    server = {"type": "local", "command": [task.binary, *task.arguments], "enabled": True}
    if task.url:
        server = {"type": "remote", "url": task.url, "headers": task.headers(), "oauth": False, "enabled": True}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "scripted",
        "options": {"baseURL": f"{model.url}/v1", "apiKey": "none"},
        "models": {"m": {"name": "m", "tool_call": True}},
    }
    settings = {"mcp": {"toolkiln": server}, "provider": {"scripted": provider}, "autoupdate": False}
    (task.root / "opencode.json").write_text(json.dumps(settings))
    program = modules / "opencode-linux-x64/bin/opencode"
    return [program, "run", "--model", "scripted/m", "Do the task."], {"OPENCODE_DISABLE_MODELS_FETCH": "1"}


HOSTS = {"Claude Code": claude_code, "Codex": codex, "gemini-cli": gemini_cli, "opencode": opencode}


def run_host(command, env, task):
    """Lets an agent do its task; what it said."""
    homes = {"HOME": str(task.home), "XDG_STATE_HOME": str(task.state), "PATH": os.environ["PATH"]}
    try:
        ran = subprocess.run(
            list(map(str, command)), env={**homes, **env}, cwd=task.root, timeout=PATIENCE,
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
        )
        return ran.stdout + ran.stderr
    except subprocess.TimeoutExpired as error:
        return f"no end: {error.stdout} {error.stderr}"


def does_the_task(name, way, binary, modules):
    """What went wrong; empty if nothing did."""
    with tempfile.TemporaryDirectory(prefix="toolkiln-") as directory:
        task = Task(pathlib.Path(directory).resolve(), binary, way)
        model = ScriptedModel()
        try:
            said = run_host(*HOSTS[name](task, modules, model), task)
        finally:
            task.close()
            model.server.shutdown()
        found = (task.root / "notes.txt").read_text()
        is_done = found == f"{WORD}\nsecond\n" and "It is done." in said
        return "" if is_done else f"{found!r} after {len(model.asked)} requests: {said[-2000:]}"


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    binary, modules = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve()
    failed = 0
    for name in sys.argv[3:] or HOSTS:
        for way in ("stdio", "HTTP"):
            problem = does_the_task(name, way, binary, modules)
            failed += bool(problem)
            print(f"FAILED  {name} over {way}: {problem}" if problem else f"ok      {name} over {way}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
