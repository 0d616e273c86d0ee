"""Prints every import of the packages in a directory that leads to a file in it: importer, a tab,
the imported file. Statements come from Python's own parser, names are resolved by its own rules
and looked up by its own finder.

python3 python_edges.py ROOT PACKAGE...
"""

import ast
import sys
from importlib.machinery import PathFinder
from importlib.util import resolve_name
from pathlib import Path

ROOT = Path(sys.argv[1]).resolve()
KNOWN = {}


def spec_of(name):
    """What Python's finder says about a module beneath ROOT, without running anything."""
    if name not in KNOWN:
        parent, _, last = name.rpartition(".")
        if parent:
            outer = spec_of(parent)
            places = outer.submodule_search_locations if outer else None
            found = PathFinder.find_spec(last, list(places)) if places else None
        else:
            found = PathFinder.find_spec(name, [str(ROOT)])
        KNOWN[name] = found
    return KNOWN[name]


def file_of(name):
    spec = spec_of(name)
    if spec is None or not spec.origin or not spec.has_location:
        return None
    return Path(spec.origin)


def package_of(path):
    """The package in which relative names of a file begin."""
    return ".".join(path.relative_to(ROOT).parent.parts)


def imported(tree, package):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, None
        elif isinstance(node, ast.ImportFrom):
            try:
                base = resolve_name("." * node.level + (node.module or ""), package or None)
            except ImportError:
                continue
            for alias in node.names:
                yield base, alias.name


def target(base, name):
    """The module that `from base import name` or `import base` leads to."""
    if name and name != "*":
        inner = file_of(f"{base}.{name}")
        if inner or spec_of(f"{base}.{name}"):
            return inner
    return file_of(base)


edges = set()
for package in sys.argv[2:]:
    for path in sorted((ROOT / package).rglob("*.py")):
        try:
            tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError):
            continue
        for base, name in imported(tree, package_of(path)):
            to = target(base, name)
            if to and to != path and ROOT in to.parents:
                edges.add((str(path.relative_to(ROOT)), str(to.relative_to(ROOT))))
for source, destination in sorted(edges):
    print(f"{source}\t{destination}")
