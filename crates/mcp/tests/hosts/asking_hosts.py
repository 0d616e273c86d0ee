"""Lets the users of other people's agents answer the questions of `BINARY mcp`: the server asks before a change, the agent
shows its user a form, or over HTTP the link to our page, and the answer is given in the way that the agent has for
programs. The model is a script.

Usage: asking_hosts.py BINARY MODULES [HOST]
       asking_hosts.py hook ANSWER STATE ASKED

MODULES is the `node_modules` that the agents are installed in. Each check prints one line; the exit code is 1 if any failed.
The second is what Claude Code runs when it is asked something.
"""

import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import threading
import urllib.request

import real_hosts
from real_hosts import PATIENCE, WORD, ScriptedModel, Task

NOTE = "say it in German"
YES = {"action": "accept", "content": {"decision": "once"}}
NO = {"action": "accept", "content": {"decision": "deny", "note": NOTE}}
DECLINED = {"action": "decline"}


def answered_on_the_page(url, state, answer):
    """What the user does who opens the link: looks at the question on the page, and answers it there. What was shown."""
    site, question = url.split("/#/inbox/")
    secrets = json.loads((pathlib.Path(state) / "toolkiln/web/secrets.json").read_text())

    def asked(path, body=None):
        headers = {"Authorization": f"Bearer {secrets['approve']}", "Content-Type": "application/json"}
        data = body and json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(site + path, data, headers), timeout=PATIENCE) as response:
            return json.load(response)

    owner = next(open["owner"] for open in asked("/api/approvals")["questions"] if open["question"] == question)
    shown = asked(f"/api/approvals/{owner}/{question}")
    if answer["action"] == "accept":
        content = answer["content"]
        asked(f"/api/approvals/{owner}/{question}", {"approve": content["decision"] == "once", "reason": content.get("note")})
    return shown


def answered(asked, state, answer):
    """The answer to a form or a link, and what the user saw."""
    if asked.get("mode") != "url":
        return answer, asked
    shown = answered_on_the_page(asked["url"], state, answer)
    return {"action": answer["action"]}, {**asked, "page": shown}


def hook(answer, state, kept):
    """Answers Claude Code, and keeps what was asked."""
    answer, seen = answered(json.load(sys.stdin), state, json.loads(answer))
    with open(kept, "a") as file:
        file.write(json.dumps(seen) + "\n")
    print(json.dumps({"hookSpecificOutput": {"hookEventName": "Elicitation", **answer}}))


def claude_code(task, modules, model, answer):
    """A hook of the user answers."""
    kept, settings = task.home / "asked.jsonl", task.home / ".claude/settings.json"
    settings.parent.mkdir()
    words = [sys.executable, __file__, "hook", json.dumps(answer), str(task.state), str(kept)]
    command = {"type": "command", "command": shlex.join(words)}
    settings.write_text(json.dumps({"hooks": {"Elicitation": [{"hooks": [command]}]}}))
    real_hosts.run_host(*real_hosts.claude_code(task, modules, model), task)
    return [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []


def codex(task, modules, model, answer):
    """A front end of Codex answers: a program that talks to its app server."""
    _, env = real_hosts.codex(task, modules, model)
    config = task.home / ".codex/config.toml"
    config.write_text(config.read_text().replace('approval_policy = "never"', 'approval_policy = "on-request"'))
    homes = {"HOME": str(task.home), "XDG_STATE_HOME": str(task.state), "PATH": os.environ["PATH"]}
    pipe = subprocess.PIPE
    server = subprocess.Popen(
        [str(modules / ".bin/codex"), "app-server"], env={**homes, **env}, cwd=task.root,
        stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True,
    )
    # What never ends is ended, so that the reading below does.
    watchdog = threading.Timer(PATIENCE, server.kill)
    watchdog.start()
    try:
        return FrontEnd(server, task, answer).converse()
    finally:
        watchdog.cancel()
        server.kill()
        server.wait()


class FrontEnd:
    """A client of Codex's app server."""

    def __init__(self, server, task, answer):
        self.server, self.task, self.answer, self.asked, self.last_id = server, task, answer, [], 0

    def send(self, message):
        self.server.stdin.write(json.dumps(message) + "\n")
        self.server.stdin.flush()

    def messages(self):
        """What the server says; its questions are answered."""
        for line in self.server.stdout:
            message = json.loads(line)
            if message.get("method") == "mcpServer/elicitation/request":
                answer, seen = answered(message["params"], self.task.state, self.answer)
                self.asked.append(seen)
                self.send({"id": message["id"], "result": {"content": None, "_meta": None, **answer}})
            elif "method" in message and "id" in message:
                self.send({"id": message["id"], "error": {"code": -32601, "message": "not offered"}})
            yield message

    def request(self, method, params):
        self.last_id += 1
        self.send({"id": self.last_id, "method": method, "params": params})
        for message in self.messages():
            if message.get("id") == self.last_id and "method" not in message:
                assert "result" in message, message
                return message["result"]
        raise AssertionError(f"no answer to {method}")

    def converse(self):
        self.request("initialize", {"clientInfo": {"name": "interop", "title": "interop", "version": "1"}})
        self.send({"method": "initialized"})
        thread = self.request("thread/start", {"cwd": str(self.task.root)})["thread"]["id"]
        words = [{"type": "text", "text": "Do the task.", "text_elements": []}]
        self.request("turn/start", {"threadId": thread, "input": words})
        for message in self.messages():
            if message.get("method") == "turn/completed":
                break
        return self.asked


HOSTS = {"Claude Code": claude_code, "Codex": codex}


def told(name, way, answer, binary, modules):
    """What the host was asked, what the file is like then, and what the model was told."""
    with tempfile.TemporaryDirectory(prefix="toolkiln-") as directory:
        # Over HTTP a form counts only from a client that may approve.
        task = Task(pathlib.Path(directory).resolve(), binary, way, flags=(), token="all")
        model = ScriptedModel()
        try:
            asked = HOSTS[name](task, modules, model, answer)
        finally:
            task.close()
            model.server.shutdown()
        return json.dumps(asked), (task.root / "notes.txt").read_text(), model.told


def main():
    if len(sys.argv) == 5 and sys.argv[1] == "hook":
        return hook(*sys.argv[2:])
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    binary, modules = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve()
    failed = 0

    def check(what, holds, shown):
        nonlocal failed
        failed += not holds
        print(f"ok      {what}" if holds else f"FAILED  {what}: {shown}", flush=True)

    changed, unchanged = f"{WORD}\nsecond\n", f"{WORD}\n"
    for name in sys.argv[3:] or HOSTS:
        for way in ("stdio", "HTTP"):
            host = f"{name} over {way}"
            asked, found, _ = told(name, way, YES, binary, modules)
            check(f"{host}: its user is shown the change", "second" in asked, asked[-2000:])
            check(f"{host}: a yes makes the change", found == changed, found)
            asked, found, heard = told(name, way, NO, binary, modules)
            check(f"{host}: a no changes nothing", "second" in asked and found == unchanged, (asked[-2000:], found))
            check(f"{host}: the model is told the reason", NOTE in heard, heard[-1500:])
        asked, found, _ = told(name, "stdio", DECLINED, binary, modules)
        check(f"{name}: what is declined changes nothing", "second" in asked and found == unchanged, found)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
