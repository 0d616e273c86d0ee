"""Traces in a real backend: Arize Phoenix, started on this machine.

Usage: phoenix.py BINARY

`toolkiln run` and `toolkiln web` have a conversation each; then Phoenix is asked what it has of them.
"""

import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile

import partners


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def start(directory):
    port = free_port()
    variables = {
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(free_port()),
        "PHOENIX_WORKING_DIR": directory,
        "PHOENIX_TELEMETRY_ENABLED": "false",
        "PHOENIX_ALLOW_EXTERNAL_RESOURCES": "false",
    }
    log = open(pathlib.Path(directory) / "phoenix.log", "w")
    command = [sys.executable, "-m", "phoenix.server.main", "serve"]
    process = subprocess.Popen(command, env={**os.environ, **variables}, stdout=log, stderr=log)
    return process, f"http://127.0.0.1:{port}"


def is_there(address):
    try:
        return partners.ask(address, "/healthz") is not None
    except OSError:
        return False


def spans_of(address, session):
    """The spans of a session; none before all have come."""
    found, cursor = [], ""
    while True:
        page = json.loads(partners.ask(address, f"/v1/projects/default/spans?limit=100{cursor}"))
        found += page["data"]
        if not page.get("next_cursor"):
            break
        cursor = f"&cursor={page['next_cursor']}"
    own = [span for span in found if conversation(span) == session or session is None]
    return own if len(own) >= 4 else None


def conversation(span):
    return span["attributes"].get("gen_ai.conversation.id")


def check(spans):
    names = sorted(span["name"] for span in spans)
    assert names == ["chat scripted-1", "chat scripted-1", "execute_tool read_file", "invoke_agent toolkiln"], names
    root = next(span for span in spans if span["parent_id"] is None)
    assert root["name"] == "invoke_agent toolkiln"
    assert all(span["parent_id"] == root["context"]["span_id"] for span in spans if span is not root)
    assert len({span["context"]["trace_id"] for span in spans}) == 1
    assert root["attributes"]["gen_ai.usage.input_tokens"] == 240, root["attributes"]
    assert partners.QUESTION not in json.dumps(spans)


def main(binary):
    place = partners.Place(binary)
    with tempfile.TemporaryDirectory() as directory:
        process, address = start(directory)
        try:
            partners.until(lambda: is_there(address), "Phoenix")
            place.run(OTEL_EXPORTER_OTLP_ENDPOINT=address)
            try:
                spans = partners.until(lambda: spans_of(address, None), "the spans of the run")
            except BaseException:
                print((pathlib.Path(directory) / "phoenix.log").read_text()[-4000:])
                raise
            check(spans)
            print("Phoenix has the trace of toolkiln run")
            service, at, token = place.serve(OTEL_EXPORTER_OTLP_ENDPOINT=address)
            try:
                session = partners.turn(at, token)
                check(partners.until(lambda: spans_of(address, session), "the spans of the service"))
            finally:
                service.terminate()
                service.wait(partners.PATIENCE)
            print("Phoenix has the trace of toolkiln web")
        finally:
            process.terminate()
            process.wait(partners.PATIENCE)


if __name__ == "__main__":
    main(sys.argv[1])
