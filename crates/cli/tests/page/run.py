"""Runs the tests of the page: `run.py BINARY [WORD…] [--ui]`. README.md says more."""

import argparse
import importlib
import os
import queue
import shutil
import sys
import threading
import time
import traceback
from pathlib import Path

# The source tree stays as it is.
sys.dont_write_bytecode = True

from playwright.sync_api import sync_playwright  # noqa: E402

from harness import World  # noqa: E402

HERE = Path(__file__).resolve().parent
UI = HERE.parents[2] / 'web_service' / 'ui'
BROWSERS = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
AT_A_TIME = 2


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('binary', help='the program to test, such as target/debug/toolkiln')
    parser.add_argument('words', nargs='*', help='only tests whose module or name contains one of these')
    # Two options, because an optional directory would take the first word for itself.
    parser.add_argument('--ui', action='store_const', const=UI, help='take the files of the page from the source, not from the binary')
    parser.add_argument('--ui-from', dest='ui', type=Path, metavar='DIR', help='take them from another directory')
    given = parser.parse_intermixed_args()
    chosen = [(module, name) for module, name in every_test() if is_wanted(f'{module}.{name}', given.words)]
    if not chosen:
        sys.exit('no test has such a name')
    waiting = queue.SimpleQueue()
    for test in chosen:
        waiting.put(test)
    failed = []
    workers = [threading.Thread(target=work, args=(given, waiting, failed)) for _ in range(min(AT_A_TIME, len(chosen)))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(f'{len(chosen) - len(failed)} of {len(chosen)} tests of the page passed')
    if failed or not waiting.empty():
        sys.exit('\n'.join(['failed:', *failed]))


def every_test():
    for file in sorted(HERE.glob('test_*.py')):
        module = importlib.import_module(file.stem)
        for name, value in vars(module).items():
            if name.startswith('test_') and callable(value):
                yield file.stem, name


def is_wanted(name, words):
    return not words or any(word in name for word in words)


def browser_program():
    found = os.environ.get('PAGE_BROWSER') or next(filter(None, map(shutil.which, BROWSERS)), None)
    return found or sys.exit(f'none of {", ".join(BROWSERS)} is installed')


def work(given, waiting, failed):
    """One browser, and a new context of it for each page."""
    with sync_playwright() as playwright:
        # Tests run as root in containers, where Chromium's own sandbox does not start.
        browser = playwright.chromium.launch(executable_path=browser_program(), args=['--no-sandbox'])
        while True:
            try:
                module, name = waiting.get_nowait()
            except queue.Empty:
                break
            began = time.monotonic()
            try:
                one(importlib.import_module(module), name, given, browser)
                word = 'ok'
            except BaseException:  # noqa: BLE001 - whatever a test throws, the others run
                failed.append(f'{module}.{name}')
                word = f'FAILED\n{traceback.format_exc()}'
            print(f'{module}.{name}: {time.monotonic() - began:.1f} s {word}', flush=True)
        browser.close()


def one(module, name, given, browser):
    test = getattr(module, name)
    kind = getattr(module, 'WORLD', World)
    with kind(name.removeprefix('test_'), given.binary, browser, given.ui, getattr(module, 'FILES', None)) as world:
        test(world)


if __name__ == '__main__':
    main()
