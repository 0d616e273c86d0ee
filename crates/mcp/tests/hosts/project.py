"""What the runs with Python hosts share: a small project, the server's command, and the checks."""

import pathlib
import sys
import tempfile

PROJECT = {
    "README.md": "# A project\n\nSee src.\n",
    "src/main.rs": "fn main() {\n    hello();\n}\n",
    "notes.txt": "one\n",
}


class HostChecks:
    """Counts what held and what did not, and prints one line for each."""

    def __init__(self):
        self.passed = 0
        self.failed = 0

    def that(self, name, holds, shown=""):
        self.passed += bool(holds)
        self.failed += not holds
        print(f"ok      {name}" if holds else f"FAILED  {name}  {shown}")


def server(root, *flags):
    """The arguments and the environment that `BINARY` is started with."""
    # The user's own rules must not decide, nor the journal end up among the user's files.
    homes = {f"XDG_{name}_HOME": str(root.parent / name) for name in ["CONFIG", "STATE"]}
    return ["mcp", "--root", str(root), *flags], homes


def run(converse, usage):
    """Calls `converse(binary, root, checks)` in a fresh project and exits with its verdict."""
    if len(sys.argv) != 2:
        sys.exit(usage)
    # A host may start the server in a directory of its own.
    binary = str(pathlib.Path(sys.argv[1]).resolve())
    checks = HostChecks()
    with tempfile.TemporaryDirectory(prefix="toolkiln-") as directory:
        root = pathlib.Path(directory).resolve() / "project"
        for name, text in PROJECT.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        try:
            converse(binary, root, checks)
        except Exception as error:  # Whatever a host raises is a failed check.
            checks.that("the run ends well", False, repr(error))
    print(f"{checks.passed} passed, {checks.failed} failed")
    sys.exit(1 if checks.failed else 0)
