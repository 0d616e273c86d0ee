"""`web_search` with a real search server: Debian's searx, with an engine that needs no network.

Given the binary, it downloads searx and what it needs, unpacks all of it into a directory, starts it on this
machine, and has `toolkiln call` search. Nothing is installed.
"""

import http.server
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

PACKAGES = """searx python3-searx python3-babel python-babel-localedata python3-brotli python3-certifi
python3-cffi-backend python3-chardet python3-charset-normalizer python3-click python3-colorama python3-cryptography
python3-dateutil python3-flask python3-flask-babel python3-idna python3-importlib-metadata python3-itsdangerous
python3-jinja2 python3-langdetect python3-lxml python3-markupsafe python3-more-itertools python3-openssl
python3-pkg-resources python3-pygments python3-requests python3-setproctitle python3-six python3-typing-extensions
python3-tz python3-urllib3 python3-werkzeug python3-yaml python3-zipp libyaml-0-2 libxslt1.1 libxml2""".split()

SETTINGS = """
use_default_settings: {{engines: {{keep_only: []}}}}
server: {{port: {port}, bind_address: "127.0.0.1", secret_key: "only for this test", limiter: false}}
ui: {{static_path: "{share}/static", templates_path: "{share}/templates"}}
engines:
  - name: local
    engine: json_engine
    shortcut: lo
    paging: false
    enable_http: true
    search_url: "http://127.0.0.1:{engine}/?q={{query}}"
    results_query: hits
    url_query: url
    title_query: title
    content_query: text
"""
PATIENCE = 60


class Engine(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        query = urllib.parse.parse_qs(urllib.parse.urlparse(self.path).query)["q"][0]
        hits = [
            {"url": f"https://page{number}.example/", "title": f"Page {number}", "text": f"about {query}"}
            for number in range(1, 8)
        ]
        body = json.dumps({"hits": hits}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def unpacked(directory):
    place = directory / "searx"
    if not (place / "done").exists():
        subprocess.run(["apt-get", "download", "-q", *PACKAGES], cwd=directory, check=True, stdout=subprocess.DEVNULL)
        for archive in directory.glob("*.deb"):
            subprocess.run(["dpkg", "-x", archive, place], check=True)
        # The package links to where its installation would put the settings.
        settings = place / "usr/lib/python3/dist-packages/searx/settings.yml"
        settings.unlink(missing_ok=True)
        settings.write_bytes((place / "usr/share/doc/searx/examples/settings.yml").read_bytes())
        (place / "done").touch()
    return place


def searx(place, directory, engine):
    port = free_port()
    settings = directory / f"settings-{port}.yml"
    share = place / "usr/share/python3-searx"
    settings.write_text(SETTINGS.format(port=port, engine=engine, share=share))
    environment = {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(place / "usr/lib/python3/dist-packages"),
        "LD_LIBRARY_PATH": str(next(place.glob("usr/lib/*-linux-gnu"))),
        "SEARX_SETTINGS_PATH": str(settings),
        "SEARXNG_SETTINGS_PATH": str(settings),
        "HOME": str(directory),
    }
    log = open(directory / f"log-{port}", "wb")
    command = ["/usr/bin/python3", "-B", "-m", "searx.webapp"]
    server = subprocess.Popen(command, env=environment, cwd=directory, stdout=log, stderr=log)
    for _ in range(PATIENCE * 10):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5).read()
            return server, port
        except urllib.error.HTTPError:
            return server, port
        except OSError:
            if server.poll() is not None:
                break
            time.sleep(0.1)
    server.kill()
    sys.exit("searx does not start:\n" + (directory / f"log-{port}").read_text()[-2000:])


def search(binary, home, port, arguments):
    (home / ".config/toolkiln/config.toml").write_text(
        f'[tools]\nnetwork = true\n[web.search]\nprovider = "searxng"\nurl = "http://127.0.0.1:{port}"\n'
    )
    environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
    call = [binary, "call", "web_search", json.dumps(arguments)]
    ran = subprocess.run(call, cwd=home / "project", env=environment, capture_output=True, text=True)
    return json.loads(ran.stdout)


def main():
    binary = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as temporary:
        temporary = pathlib.Path(temporary)
        cache = pathlib.Path(os.environ.get("TOOLKILN_SEARX", temporary / "packages"))
        cache.mkdir(parents=True, exist_ok=True)
        home = temporary / "home"
        (home / ".config/toolkiln").mkdir(parents=True)
        (home / "project").mkdir()
        engine = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Engine)
        threading.Thread(target=engine.serve_forever, daemon=True).start()
        place = unpacked(cache)
        server, port = searx(place, temporary, engine.server_address[1])
        try:
            found = search(binary, home, port, {"query": "hot kilns", "max_results": 3})
            expected = [
                {"title": f"Page {number}", "url": f"https://page{number}.example/", "snippet": "about hot kilns"}
                for number in (1, 2, 3)
            ]
            assert found == {"results": expected}, found
        finally:
            server.kill()
        print("searx: three results of a real server")


main()
