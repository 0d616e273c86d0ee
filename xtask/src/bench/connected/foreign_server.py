"""A small MCP server that does what the benchmark needs: well, badly, or not at all."""

import json
import sys

KIND = sys.argv[1]
TOOLS = int(sys.argv[2])


def tool(number):
    name = "echo" if number == 0 else f"tool_{number}"
    text = {"type": "string", "description": "What is sent back"}
    return {
        "name": name,
        "description": f"Sends the text back, in the way that has the number {number}",
        "inputSchema": {"type": "object", "properties": {"text": text}, "required": ["text"]},
    }


def answer(method, params):
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": KIND, "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [tool(number) for number in range(TOOLS)]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": params["arguments"]["text"]}]}
    return None


if KIND == "crashing":
    sys.exit(1)
for line in sys.stdin.buffer:
    request = json.loads(line)
    if KIND == "hanging" or "id" not in request:
        continue
    if KIND == "silent" and request["method"] == "tools/call":
        continue
    result = answer(request["method"], request.get("params", {}))
    response = {"jsonrpc": "2.0", "id": request["id"]}
    if result is None:
        response["error"] = {"code": -32601, "message": "Method not found"}
    else:
        response["result"] = result
    sys.stdout.write(json.dumps(response) + "\n")
    sys.stdout.flush()
