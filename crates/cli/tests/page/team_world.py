"""The service of a team, on PostgreSQL, with two projects and an admin."""

import itertools
import json
import os
import subprocess
import urllib.request

from harness import WATCHDOG, World

# Names the server on which databases are made, as for the tests in Rust.
POSTGRES = 'TOOLKILN_TEST_POSTGRES'
SCOPES = {
    'viewer': ['read'],
    'member': ['read', 'chat', 'tools', 'mcp'],
    'approver': ['read', 'chat', 'approve', 'tools', 'mcp'],
    'admin': ['read', 'chat', 'approve', 'tools', 'mcp', 'admin'],
}
NUMBERS = itertools.count()


class TeamWorld(World):
    """A `World` whose service is `toolkiln serve`. The admin is Grace, with the token `all`; `add` makes more users."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        server = os.environ.get(POSTGRES)
        assert server, f'{POSTGRES} names no server of PostgreSQL, such as postgres://postgres@127.0.0.1:5432'
        self.server = server.rstrip('/')
        self.database = f'page_{os.getpid()}_{next(NUMBERS)}'
        self.sql(f'CREATE DATABASE {self.database} TEMPLATE template0')
        self.site = self.home / 'site'
        self.site.mkdir()
        self.users = {}
        self.known_tokens = {}

    def sql(self, statement):
        command = ['psql', '--quiet', '--no-psqlrc', '-d', f'{self.server}/postgres', '-c', statement]
        subprocess.run(command, check=True, capture_output=True, text=True)

    def command(self):
        database = f'{self.server}/{self.database}'
        return ['serve', '--database', database, '--project', f'demo={self.project}', '--project', f'site={self.site}']

    def read_tokens(self):
        if not self.known_tokens:
            self.join('all', 'Grace', 'admin', self.link.split('#code=')[1])
        return self.known_tokens

    def add(self, name, role='member', projects=('demo',)):
        """Adds a user by an invitation; the user's token has the name in lower case. Answers the user's id."""
        made = self.api('/invitations', {'role': role, 'note': name, 'projects': list(projects)})
        return self.join(name.lower(), name, role, made['link'].split('#code=')[1])

    def join(self, token, name, role, code):
        """Accepts an invitation, and makes a token with all that the user may do."""
        cookie = '='.join(self.cookie(code, name=name))
        body = json.dumps({'name': 'test', 'scopes': SCOPES[role]}).encode()
        headers = {'cookie': cookie, 'origin': self.url, 'x-toolkiln': 'page', 'content-type': 'application/json'}
        request = urllib.request.Request(f'{self.url}/api/me/tokens', body, headers)
        with urllib.request.urlopen(request, timeout=WATCHDOG / 1000) as answer:
            made = json.loads(answer.read())
        self.known_tokens[token] = made['token']
        self.users[token] = made['user']
        return made['user']

    def __exit__(self, *failed):
        try:
            super().__exit__(*failed)
        finally:
            self.sql(f'DROP DATABASE IF EXISTS {self.database} WITH (FORCE)')
