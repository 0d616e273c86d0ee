"""What clang's parser says a directory of C++ defines: path, line, name, rank.

    python clang_places.py ROOT INCLUDE… -DNAME…

Includes are directories beneath the root. Rank 1 is for constructors, 0 for all else.
"""
import glob
import os
import sys

from clang import cindex
from clang.cindex import CursorKind as Kind

ROOT = os.path.realpath(sys.argv[1])
DEFINING = {
    Kind.CLASS_DECL, Kind.STRUCT_DECL, Kind.UNION_DECL, Kind.ENUM_DECL, Kind.FUNCTION_DECL, Kind.CXX_METHOD,
    Kind.CLASS_TEMPLATE, Kind.CLASS_TEMPLATE_PARTIAL_SPECIALIZATION, Kind.FUNCTION_TEMPLATE, Kind.CONSTRUCTOR,
}
ENDINGS = (".cc", ".cpp", ".cxx", ".h", ".hpp", ".hh")


def arguments():
    """The directories of the project and of the system's C++ library; the wheel brings none."""
    system = sorted(glob.glob("/usr/include/c++/*"))[-1:]
    system += [place for place in glob.glob("/usr/include/*/c++/*")][-1:]
    system += sorted(glob.glob("/usr/lib/gcc/*/*/include"))[-1:]
    found = ["-std=c++17", "-ferror-limit=0", "-DNDEBUG"]
    for place in sys.argv[2:]:
        found += [place] if place.startswith("-D") else ["-I", os.path.join(ROOT, place)]
    for place in system:
        found += ["-isystem", place]
    return found


def judge(index, path, options):
    kind = "c++-header" if path.endswith((".h", ".hpp", ".hh")) else "c++"
    unit = index.parse(path, args=["-x", kind, *options])
    with open(path, "rb") as text:
        lines = text.read().split(b"\n")
    waiting = list(unit.cursor.get_children())
    while waiting:
        cursor = waiting.pop()
        where = cursor.location
        if where.file is None or os.path.realpath(where.file.name) != path:
            continue
        # A template without `(` in its name, as users ask for it.
        name = cursor.spelling.split("<")[0]
        if cursor.kind in DEFINING and cursor.is_definition() and name.isidentifier():
            rank = 1 if cursor.kind == Kind.CONSTRUCTOR else 0
            # Where a macro made the name, its text does not stand on that line.
            if name.encode() in lines[where.line - 1]:
                print(os.path.relpath(path, ROOT), where.line, name, rank, sep="\t")
        waiting.extend(cursor.get_children())


def main():
    index = cindex.Index.create()
    options = arguments()
    for directory, _, names in sorted(os.walk(ROOT)):
        for name in sorted(names):
            if name.endswith(ENDINGS):
                judge(index, os.path.join(directory, name), options)


main()
