"""Which file of a project each of its includes names, as gcc searches: file, tab, included file.

    python gcc_includes.py ROOT SOURCES INCLUDE…

`SOURCES` is the directory whose files are looked at, an include directory is beneath the root. All
directives count, whatever conditions they stand behind.
"""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.realpath(sys.argv[1])
INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*(["<][^">\n]+[">])', re.M)
COMMENT = re.compile(rb"/\*.*?\*/|//[^\n]*", re.S)
ENDINGS = {".c": "c", ".h": "c++", ".cc": "c++", ".cpp": "c++", ".hpp": "c++"}


def judge(path, place):
    language = ENDINGS[os.path.splitext(path)[1]]
    with open(path, "rb") as file:
        text = COMMENT.sub(lambda it: b"\n" * it.group().count(b"\n"), file.read())
    for spelled in sorted(set(INCLUDE.findall(text))):
        command = ["gcc", "-x", language, "-E", "-H", "-fmax-include-depth=2", "-iquote", os.path.dirname(path)]
        for include in sys.argv[3:]:
            command += ["-I", os.path.join(ROOT, include)]
        run = subprocess.run([*command, "-"], input=b"#include " + spelled + b"\n", capture_output=True, cwd=place)
        for line in run.stderr.decode("utf-8", "replace").splitlines():
            if line.startswith(". "):
                found = os.path.realpath(line[2:])
                if found.startswith(ROOT + os.sep) and found != path:
                    print(os.path.relpath(path, ROOT), os.path.relpath(found, ROOT), sep="\t")


def main():
    with tempfile.TemporaryDirectory() as place:
        for directory, _, names in sorted(os.walk(os.path.join(ROOT, sys.argv[2]))):
            for name in sorted(names):
                if os.path.splitext(name)[1] in ENDINGS:
                    judge(os.path.join(directory, name), place)


main()
