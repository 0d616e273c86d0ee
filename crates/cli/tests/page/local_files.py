"""Shows a page from files on the disk instead of those in the binary, so that a change needs no build (`--ui`)."""

import base64
import hashlib
import re
import urllib.request

TYPES = {'.js': 'text/javascript', '.mjs': 'text/javascript', '.css': 'text/css', '.html': 'text/html'}


def serve_from(context, directory, url):
    """Answers requests of a browser context for files of the page from a directory, with the service's headers."""
    headers = {}

    def answer(route):
        path = route.request.url[len(url) + 1:].split('?')[0].split('#')[0] or 'index.html'
        file = directory / path
        if not headers:
            with urllib.request.urlopen(f'{url}/') as index:
                headers.update({name.lower(): value for name, value in index.headers.items()})
        if not file.is_file():
            route.fulfill(status=404, body='')
            return
        body = file.read_bytes()
        own = {name: value for name, value in headers.items() if name not in ('content-length', 'etag', 'content-encoding', 'transfer-encoding', 'connection')}
        if path == 'index.html':
            own['content-security-policy'] = with_hash_of_map(own['content-security-policy'], body)
        route.fulfill(body=body, headers={**own, 'content-type': f'{TYPES.get(file.suffix, "text/plain")}; charset=utf-8'})

    context.route(lambda address: address.startswith(f'{url}/') and not address.startswith(f'{url}/api'), answer)


def with_hash_of_map(policy, index):
    """The policy for an index whose import map may be another one."""
    inline = re.search(rb'<script type="importmap">(.*?)</script>', index, re.S)[1]
    digest = base64.b64encode(hashlib.sha256(inline).digest()).decode()
    return re.sub(r"'sha256-[^']*'", f"'sha256-{digest}'", policy)
