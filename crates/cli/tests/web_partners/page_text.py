"""How much of the text of real pages `web_fetch` finds, measured against trafilatura.

Given the binary, it serves pages from Debian's documentation packages on this machine, has `toolkiln call`
fetch each, and compares the words. The packages are downloaded when this runs; none of their text is kept here.
"""

import collections
import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

import trafilatura

PACKAGES = ["git-doc", "python3.11-doc", "sqlite3-doc", "postgresql-doc-15"]
PAGES = 52
SMALLEST, LARGEST = 3_000, 300_000
WANTED = 0.95


def pages(directory):
    """The same pages each time: as many of each package, spread over its names."""
    found = []
    for package in PACKAGES:
        place = directory / package
        if not place.exists():
            subprocess.run(["apt-get", "download", "-q", package], cwd=directory, check=True, stdout=subprocess.DEVNULL)
            [archive] = directory.glob(f"{package}_*.deb")
            subprocess.run(["dpkg", "-x", archive, place], check=True)
        files = sorted(
            file for file in place.rglob("*.html")
            if file.is_file() and SMALLEST < file.stat().st_size < LARGEST
        )
        count = PAGES // len(PACKAGES)
        found += [files[at * len(files) // count] for at in range(count)]
    return found


def words(text):
    # Markup of Markdown, and the addresses of links, are no words of the page.
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return collections.Counter(re.findall(r"[^\W_]+", text.lower()))


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def main():
    binary = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as temporary:
        directory = pathlib.Path(os.environ.get("TOOLKILN_PAGES", temporary))
        directory.mkdir(parents=True, exist_ok=True)
        files = pages(directory)
        serve = lambda *args: Handler(*args, directory=str(directory))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_address[1]
        home = pathlib.Path(temporary) / "home"
        project = home / "project"
        (home / ".config/toolkiln").mkdir(parents=True)
        project.mkdir()
        (home / ".config/toolkiln/config.toml").write_text(
            f'[tools]\nnetwork = true\n[web]\nnetwork_allow = ["127.0.0.1:{port}"]\n'
            f'hosts = ["http://127.0.0.1:{port}"]\n'
        )
        environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
        recalls, ratios = [], []
        for file in files:
            theirs = words(trafilatura.extract(file.read_bytes(), include_tables=True, include_comments=False) or "")
            url = f"http://127.0.0.1:{port}/{file.relative_to(directory)}"
            call = [binary, "call", "web_fetch", json.dumps({"url": url})]
            ran = subprocess.run(call, cwd=project, env=environment, capture_output=True, text=True)
            if ran.returncode:
                sys.exit(f"{url}: {ran.stdout}{ran.stderr}")
            answer = json.loads(ran.stdout)
            ours = words(answer["body"] + " " + answer.get("title", ""))
            total = sum(theirs.values())
            if total == 0:
                continue
            recall = sum(min(count, ours[word]) for word, count in theirs.items()) / total
            recalls.append((recall, total, file.name))
            ratios.append(sum(ours.values()) / total)
        recalls.sort()
        for recall, total, name in recalls[:8]:
            print(f"{recall:6.1%} of {total} words: {name}")
        mean = sum(recall for recall, _, _ in recalls) / len(recalls)
        weighted = sum(recall * total for recall, total, _ in recalls) / sum(total for _, total, _ in recalls)
        print(
            f"{len(recalls)} pages: {mean:.2%} of the words that trafilatura finds ({weighted:.2%} by words), "
            f"{sum(ratios) / len(ratios):.2f} times as many in all"
        )
        if len(recalls) < 50 or mean < WANTED:
            sys.exit(f"at least {WANTED:.0%} on 50 pages are wanted")


main()
