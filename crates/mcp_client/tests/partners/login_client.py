"""The client side of the auth scenarios of the MCP conformance suite, with toolkiln in it.

The suite starts `login_client.py TOOLKILN URL`. This uses the server at URL as a user would: it calls a tool, logs
in when toolkiln says that a login is needed, and goes on. The browser agrees to everything, and the address that it
ends at is pasted, as on a machine without a browser. See https://www.npmjs.com/package/@modelcontextprotocol/conformance.

    conformance client --command "python3 login_client.py target/debug/toolkiln" --suite auth
"""

import json
import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from urllib.parse import urlsplit

TOOLKILN, URL = sys.argv[1], sys.argv[-1]
SCENARIO = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
CONTEXT = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
# The suite looks for this address where a client is described by a document.
CLIENT_DOCUMENT = "https://conformance-test.local/client-metadata.json"
# More than a step-up and a change of the issuer take. A server that is never content ends the run before.
MOST_LOGINS = 3
SECONDS = 25


class StayHere(urllib.request.HTTPRedirectHandler):
    """Tells where a redirect leads, and does not follow it."""

    def redirect_request(self, *_):
        return None


def browse(address):
    try:
        urllib.request.build_opener(StayHere).open(address, timeout=SECONDS)
    except urllib.error.HTTPError as error:
        return error.headers["Location"] or ""
    return ""


def issuer():
    """The authorization server that the user of a client with a secret knows."""
    if "issuer" in CONTEXT:
        return CONTEXT["issuer"]
    at = urlsplit(URL)
    place = f"{at.scheme}://{at.netloc}/.well-known/oauth-protected-resource{at.path}"
    return json.load(urllib.request.urlopen(place, timeout=SECONDS))["authorization_servers"][0]


def configuration():
    lines = ["[mcp.servers.t]", f'url = "{URL}"', 'approval = "allow"', "[mcp.servers.t.oauth]"]
    if "client_secret" in CONTEXT:
        lines += [
            f'client_id = "{CONTEXT["client_id"]}"',
            'client_secret_env = "CLIENT_SECRET"',
            f'issuer = "{issuer()}"',
        ]
    lines.append(f'client_metadata_url = "{CLIENT_DOCUMENT}"')
    return "\n".join(lines) + "\n"


class User:
    def __init__(self, home):
        self.project = os.path.join(home, "project")
        os.mkdir(self.project)
        config = os.path.join(home, ".config", "toolkiln")
        os.makedirs(config)
        with open(os.path.join(config, "config.toml"), "w") as file:
            file.write(configuration())
        self.env = {"HOME": home, "PATH": os.environ["PATH"], "CLIENT_SECRET": CONTEXT.get("client_secret", "")}

    def command(self, *words):
        return [TOOLKILN, *words, "--root", self.project]

    def run(self, *words):
        done = subprocess.run(
            self.command(*words), env=self.env, capture_output=True, text=True, timeout=SECONDS
        )
        sys.stderr.write(done.stdout + done.stderr)
        return done

    def use(self):
        done = self.run("mcp", "trust", "t")
        return done if done.returncode else self.run("call", "t__test-tool", "{}", "--yes")

    def login(self):
        process = subprocess.Popen(
            self.command("mcp", "login", "t", "--no-browser"),
            env=self.env,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        told = ""
        for line in process.stdout:
            told += line
            if line.startswith("http"):
                process.stdin.write(browse(line.strip()) + "\n")
                process.stdin.flush()
                break
        out, err = process.communicate(timeout=SECONDS)
        sys.stderr.write(told + out + err)
        return "You are logged in" in told + out


def main():
    with tempfile.TemporaryDirectory(prefix="toolkiln-") as home:
        user = User(home)
        # In this scenario the server changes its issuer after it was used.
        uses = 2 if SCENARIO == "auth/authorization-server-migration" else 1
        logins = 0
        while True:
            done = user.use()
            if done.returncode == 0:
                uses -= 1
                if uses == 0:
                    return 0
            elif "toolkiln mcp login t" not in done.stdout + done.stderr or logins == MOST_LOGINS:
                return done.returncode
            elif not user.login():
                return 1
            else:
                logins += 1


if __name__ == "__main__":
    sys.exit(main())
