"""Gives `BINARY mcp` to the Google Gen AI SDK, whose model is a server in this process.

Usage: google_genai.py BINARY
"""

import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from google import genai
from google.genai import types
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from project import run, server

# What the model calls, one call a request, before it ends with a text.
CALLS = [
    ("read_file", {"path": "README.md"}),
    ("append_file", {"path": "notes.txt", "content": "two\n"}),
    ("read_file", {"path": "missing.txt"}),
]


def model_server(requests):
    """A server that speaks as much of the Gemini API as one conversation needs."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            requests.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            turn = len(requests) - 1
            part = {"text": "done"}
            if turn < len(CALLS):
                name, arguments = CALLS[turn]
                part = {"functionCall": {"name": name, "args": arguments}}
            answer = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}]}
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    return listening


def declared(request):
    """The functions that a request declares."""
    return [one for tool in request["tools"] for one in tool["functionDeclarations"]]


async def work(binary, root, checks):
    requests = []
    listening = model_server(requests)
    address = f"http://127.0.0.1:{listening.server_port}"
    client = genai.Client(api_key="none", http_options=types.HttpOptions(base_url=address))
    arguments, homes = server(root, "--yes")
    parameters = StdioServerParameters(command=binary, args=arguments, env=homes)
    async with stdio_client(parameters) as streams, ClientSession(*streams) as session:
        await session.initialize()
        listed = (await session.list_tools()).tools
        checks.that("the server lists tools", len(listed) > 20, len(listed))
        # A dictionary, because the SDK makes a deep copy of a typed configuration, session included.
        config = {"tools": [session]}
        answer = await client.aio.models.generate_content(model="gemini", contents="Go.", config=config)
    checks.that("the run ends with the model's text", answer.text == "done", answer)
    functions = declared(requests[0])
    names = {function["name"] for function in functions}
    checks.that("the model is shown every tool", names == {tool.name for tool in listed}, names)
    for tool in listed:
        function = next(one for one in functions if one["name"] == tool.name)
        kept = set(function.get("parameters", {}).get("properties", {}))
        given = set((getattr(tool, "input_schema", None) or tool.inputSchema).get("properties", {}))
        checks.that(f"{tool.name} keeps its parameters", kept == given, (kept, given))
    said = [json.dumps(request["contents"][-1]) for request in requests[1:]]
    checks.that("a read reaches the model", "A project" in said[0], said)
    checks.that("a failure reaches the model in words", "missing.txt" in said[2], said)
    changed = (root / "notes.txt").read_text()
    checks.that("a change is made", changed == "one\ntwo\n", repr(changed))
    listening.shutdown()


run(lambda binary, root, checks: asyncio.run(work(binary, root, checks)), __doc__)
