"""A user who logs in at `oidc-provider`, uses a server, and goes on using it after its tokens were refused.

    python3 oidc_login.py TOOLKILN NODE MODULES
"""

import html
import http.cookiejar
import os
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request

TOOLKILN, NODE, MODULES = sys.argv[1:4]
SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "oidc.mjs")
SECONDS = 30
# Pages and redirects of one login: two forms, and what leads to each.
MOST_PAGES = 20


class Browser:
    """Follows redirects and fills in forms, until it is sent back to this machine."""

    def __init__(self):
        class StayHere(urllib.request.HTTPRedirectHandler):
            def redirect_request(self, *_):
                return None

        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self.opener = urllib.request.build_opener(StayHere, cookies)

    def log_in(self, address):
        body = None
        for _ in range(MOST_PAGES):
            try:
                page = self.opener.open(address, body, timeout=SECONDS).read().decode()
            except urllib.error.HTTPError as error:
                if error.code not in (302, 303):
                    raise SystemExit(f"{address}: {error.code} {error.read().decode()[:2000]}")
                address, body = urllib.parse.urljoin(address, error.headers["Location"]), None
                if "/callback?" in address:
                    return address
                continue
            form = re.search(r'<form[^>]* action="([^"]+)"', page)
            fields = {"prompt": re.search(r'name="prompt" value="(\w+)"', page).group(1), "login": "me", "password": "x"}
            address = urllib.parse.urljoin(address, html.unescape(form.group(1)))
            body = urllib.parse.urlencode(fields).encode()
        raise SystemExit("the login does not end")


def main():
    server = subprocess.Popen([NODE, SERVER, MODULES], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    ready = server.stdout.readline().split()
    assert ready[:1] == ["ready"], ready
    url = ready[1]
    with tempfile.TemporaryDirectory(prefix="toolkiln-") as home:
        project = os.path.join(home, "project")
        config = os.path.join(home, ".config", "toolkiln")
        os.mkdir(project)
        os.makedirs(config)
        with open(os.path.join(config, "config.toml"), "w") as file:
            file.write(f'[mcp.servers.t]\nurl = "{url}"\napproval = "allow"\n')
        env = {"HOME": home, "PATH": os.environ["PATH"]}

        def run(*words):
            words = [TOOLKILN, *words, "--root", project]
            return subprocess.run(words, env=env, capture_output=True, text=True, timeout=SECONDS)

        def call():
            return run("call", "t__test-tool", "{}", "--yes")

        first = run("mcp", "test", "t")
        assert first.returncode and "toolkiln mcp login t" in first.stderr, first
        login = subprocess.Popen(
            [TOOLKILN, "mcp", "login", "t", "--no-browser", "--root", project],
            env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        address = next(line.strip() for line in login.stdout if line.startswith("http"))
        login.stdin.write(Browser().log_in(address) + "\n")
        login.stdin.flush()
        out, err = login.communicate(timeout=SECONDS)
        assert login.returncode == 0, out + err
        assert "inside" in call().stdout, call()
        for _ in range(3):
            # Each time the refresh token of before is used, and the next one kept.
            urllib.request.urlopen(url.replace("/mcp", "/refuse-tokens"), timeout=SECONDS)
            assert "inside" in call().stdout, call()
        assert run("mcp", "logout", "t").returncode == 0
        last = call()
        assert last.returncode and "needs a login" in last.stdout, last
    server.stdin.close()
    server.wait(timeout=SECONDS)
    print("oidc-provider: logged in, used, renewed three times, logged out")


if __name__ == "__main__":
    main()
