"""Compares `rename_symbol` and `impact` with a language server on one project.

    python compare.py SYMBOL_USES NAME ROOT LANGUAGE ENDINGS -- SERVER…

`SYMBOL_USES` is the example of that name, `ENDINGS` the files that are opened, with commas between. Asked
for are names that stand for one definition in the whole project: there both sides have to name the same
places. Then the files that use anything of a file are compared with what `impact` says: each must be in its
tree, and those at its first level should use the file.
"""
import json
import os
import re
import subprocess
import sys
import threading
import time
import urllib.parse

# Names and files that are asked for, spread evenly over all.
NAMES = 60
FILES = 12
# The kinds of the protocol that are defined for others: classes, methods, enums, interfaces, functions,
# constants, structs. Methods are left out of names that must be unique only by being ambiguous more often.
KINDS = {5, 6, 10, 11, 12, 14, 23}
TOP = {5, 10, 11, 12, 14, 23}
# Seconds to wait for one answer.
PATIENCE = 120


class Server:
    def __init__(self, command, root):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=root
        )
        self.answers, self.ready, self.number, self.at_rest = {}, threading.Condition(), 0, False
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        pipe = self.process.stdout
        while True:
            length = 0
            while (line := pipe.readline().strip()) != b"":
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            if length == 0:
                return
            message = json.loads(pipe.read(length))
            if "method" in message and "id" in message:
                wants = len(message.get("params", {}).get("items", [])) if message["method"] == "workspace/configuration" else 0
                self.send({"id": message["id"], "result": [None] * wants if wants else None})
            elif message.get("method") == "experimental/serverStatus":
                with self.ready:
                    self.at_rest = message["params"]["quiescent"]
                    self.ready.notify_all()
            elif "id" in message:
                with self.ready:
                    self.answers[message["id"]] = message
                    self.ready.notify_all()

    def wait_for_rest(self):
        """Until the server has loaded the project: before, it answers with what it knows so far."""
        with self.ready:
            if not self.ready.wait_for(lambda: self.at_rest, PATIENCE):
                raise SystemExit("the server does not come to rest")

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def tell(self, method, params):
        self.send({"method": method, "params": params})

    def ask(self, method, params):
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        until = time.monotonic() + PATIENCE
        with self.ready:
            while self.number not in self.answers:
                if not self.ready.wait(until - time.monotonic()) and time.monotonic() >= until:
                    raise SystemExit(f"no answer to {method}")
            return self.answers.pop(self.number).get("result")


def uri(path):
    return "file://" + urllib.parse.quote(path)


def path_of(root, address):
    path = urllib.parse.unquote(address.removeprefix("file://"))
    return os.path.relpath(os.path.realpath(path), root)


def sources(root, endings):
    found = []
    for directory, inside, names in os.walk(root):
        inside[:] = [name for name in inside if name != "node_modules" and not name.startswith(".")]
        found += [os.path.join(directory, name) for name in names if name.endswith(endings)]
    return sorted(found)


def flat(symbols):
    """All symbols of a file, each with its depth; servers answer in one of two forms."""
    waiting = [(one, 0) for one in symbols or []]
    while waiting:
        one, depth = waiting.pop()
        at = one.get("selectionRange") or one["location"]["range"]
        yield one["name"], one["kind"], depth, at["start"]
        waiting += [(inner, depth + 1) for inner in one.get("children") or []]


def spread(all_of_them, count):
    return all_of_them[:: max(1, -(-len(all_of_them) // count))]


def references(server, root, path, position):
    asked = {
        "textDocument": {"uri": uri(path)},
        "position": position,
        "context": {"includeDeclaration": True},
    }
    found = server.ask("textDocument/references", asked) or []
    places = ((path_of(root, one["uri"]), one["range"]["start"]["line"] + 1) for one in found)
    return {(place, line) for place, line in places if not place.startswith("..")}


def main():
    divide = sys.argv.index("--")
    program, name, root, language, endings = sys.argv[1:divide]
    root = os.path.realpath(root)
    server = Server(sys.argv[divide + 1 :], root)
    server.ask("initialize", {
        "processId": os.getpid(),
        "rootUri": uri(root),
        "workspaceFolders": [{"uri": uri(root), "name": name}],
        "capabilities": {
            "textDocument": {"documentSymbol": {"hierarchicalDocumentSymbolSupport": True}},
            "workspace": {"configuration": True, "workspaceFolders": True},
            "experimental": {"serverStatusNotification": True},
        },
    })
    server.tell("initialized", {})
    files = sources(root, tuple(endings.split(",")))
    texts = {}
    for path in files:
        with open(path, encoding="utf-8", errors="replace") as file:
            texts[path] = file.read()
        server.tell("textDocument/didOpen", {
            "textDocument": {"uri": uri(path), "languageId": language, "version": 1, "text": texts[path]},
        })
    if language == "rust":
        server.wait_for_rest()
    defined, tops = {}, {}
    for path in files:
        for symbol, kind, depth, position in flat(server.ask("textDocument/documentSymbol", {"textDocument": {"uri": uri(path)}})):
            # Some servers write more than the name; the place says what it is.
            line = texts[path].split("\n")[position["line"]]
            if not re.fullmatch(r"[\w$]+", symbol) or not line[position["character"] :].startswith(symbol):
                continue
            if kind in KINDS:
                defined.setdefault(symbol, []).append((path, position))
            if kind in TOP:
                tops.setdefault(path, []).append((symbol, position))
    unique = sorted(symbol for symbol, places in defined.items() if len(places) == 1)
    # A name that stands for several things, like `main`, leads to files that have nothing in common.
    tops = {path: [one for one in ones if one[0] in set(unique)] for path, ones in tops.items()}
    tops = {path: ones for path, ones in tops.items() if ones}
    ours = subprocess.Popen([program, root], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def answer(question):
        ours.stdin.write(question + "\n")
        ours.stdin.flush()
        return set(json.loads(ours.stdout.readline()))

    same = missing = more = both = 0
    for symbol in spread(unique, NAMES):
        path, position = defined[symbol][0]
        theirs = {f"{place}:{line}" for place, line in references(server, root, path, position)}
        mine = answer(f"name {symbol}")
        both += len(theirs & mine)
        missing += len(theirs - mine)
        more += len(mine - theirs)
        same += theirs == mine
        for place in sorted(theirs - mine):
            print(f"  rename {symbol}: only the server has {place}")
        for place in sorted(mine - theirs):
            print(f"  rename {symbol}: only we have {place}")
    asked = len(spread(unique, NAMES))
    print(f"{name}: rename_symbol: {asked} names, {same} with the same places; places: {both} common, "
          f"{missing} only the server's, {more} only ours")
    common = lost = extra = 0
    # What others use of C++ is in headers.
    asked_for = [path for path in sorted(tops) if language != "cpp" or path.endswith(".h")]
    for path in spread(asked_for, FILES):
        here = os.path.relpath(path, root)
        theirs = {place for _, at in tops[path] for place, _ in references(server, root, path, at)} - {here}
        theirs = {place for place in theirs if place.endswith(tuple(endings.split(",")))}
        if language == "go":
            # The files of a package are one thing in Go: what imports one imports all of them.
            theirs = {place for place in theirs if os.path.dirname(place) != os.path.dirname(here)}
        mine = {place for place in answer(f"file {here}") if place.endswith(tuple(endings.split(",")))}
        # What comes through a file that hands it on stands further down in the tree.
        reached = answer(f"all {here}")
        common += len(theirs & reached)
        lost += len(theirs - reached)
        extra += len(mine - theirs)
        for place in sorted(theirs - reached):
            print(f"  impact {here}: only the server has {place}")
        for place in sorted(mine - theirs):
            print(f"  impact {here}: only we have {place}")
    print(f"{name}: impact: {len(spread(asked_for, FILES))} files; dependents: {common} common, "
          f"{lost} only the server's, {extra} only ours")
    server.process.kill()
    ours.kill()
    # A place that a rename forgets breaks the program, as does a dependent that is not named.
    found = both / max(1, both + missing)
    known = common / (common + lost) if common + lost else 1.0
    print(f"{name}: of the server's places {found:.3f}, of its dependents {known:.3f}")
    sys.exit(0 if asked > 0 and found >= 0.98 and known >= 0.95 else 1)


main()
