"""What a test of the page is given: the real service on a project of its own, a scripted model, and browsers."""

import json
import os
import re
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from local_files import serve_from
from model import ScriptedModel

FILES = {
    'src/main.rs': 'fn main() {\n    println!("hello");\n}\n',
    'README.md': '# Demo\n\nIt says hello.\n',
}
DESKTOP = {'width': 1280, 'height': 800}
PHONE = {'width': 390, 'height': 844}
# How long a test waits for what must come, in milliseconds.
WATCHDOG = 15_000
# Where the service listens. The system gives ports of 127.0.0.1 to any program, also while a test starts it again.
HOST = '127.0.0.2'

# Violations of the policy are told where the test looks for errors.
REPORT_VIOLATIONS = """addEventListener('securitypolicyviolation', (event) =>
  console.error(`CSP: ${event.violatedDirective} refused ${event.blockedURI} ${event.sample}`));"""


class World:
    """One test's service, model and pages. `with World(...)` ends them all and checks that no page had errors."""

    def __init__(self, name, binary, browser, ui=None, files=None):
        self.name, self.binary, self.browser, self.ui = name, Path(binary).resolve(), browser, ui
        self.shots = self.binary.parent.parent / 'page'
        self.model = ScriptedModel()
        self.pages = []
        self._allowed = []
        self._errors = []
        self._kept = tempfile.TemporaryDirectory(prefix='toolkiln-page-')
        self.home = Path(self._kept.name)
        self.project = self.home / 'demo'
        self.environment = {
            'PATH': os.environ['PATH'],
            'HOME': str(self.home),
            'XDG_STATE_HOME': str(self.home / 'state'),
            'XDG_CONFIG_HOME': str(self.home / 'config'),
            'GIT_CONFIG_NOSYSTEM': '1',
        }
        for path, text in (files or FILES).items():
            self.write(path, text)
        self.git('init', '-q', '-b', 'main')
        self.commit('first')
        self.service = None
        self.port = 0
        self.arguments = []

    # ---- The project ----

    def write(self, path, text):
        place = self.project / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def read(self, path):
        return (self.project / path).read_text()

    def git(self, *arguments):
        command = ['git', '-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', *arguments]
        return subprocess.run(command, cwd=self.project, env=self.environment, check=True, capture_output=True, text=True).stdout

    def commit(self, message):
        self.git('add', '-A')
        self.git('commit', '-q', '--allow-empty', '-m', message)

    # ---- The service ----

    def start(self, *more):
        """Starts the service, at the port that it had before if it was started before."""
        self.arguments = more or self.arguments
        command = [self.binary, *self.command(), '--provider', 'ollama', '--base-url', self.model.base_url, '--model', 'opus']
        command += ['--listen', f'{HOST}:{self.port}', *self.arguments]
        with open(self.home / 'stderr', 'a') as stderr:
            self.service = subprocess.Popen(
                command, cwd=self.project, env=self.environment, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=stderr, text=True)
        self.link = self.service.stdout.readline().strip()
        assert self.link.startswith('http'), f'the service did not start: {(self.home / "stderr").read_text()}'
        self.url = self.link.split('/#')[0]
        self.port = int(self.url.rsplit(':', 1)[1])
        self.tokens = self.read_tokens()
        return self

    def command(self):
        """What is started, as words of the command line."""
        return ['web']

    def read_tokens(self):
        """The tokens of the service that was started, by name; `all` may do everything."""
        return json.loads((self.home / 'state/toolkiln/web/secrets.json').read_text())

    def kill(self):
        """Ends the service as a crash would, with nothing said to any client."""
        self.service.send_signal(signal.SIGKILL)
        self.service.wait()
        self.service.stdout.close()

    def restart(self):
        """Kills the service and starts it at the same port."""
        self.kill()
        return self.start()

    def api(self, path, body=None, method=None, token='all'):
        """Asks the service as a program would. Answers the value, or raises `urllib.error.HTTPError`."""
        data = None if body is None else json.dumps(body).encode()
        headers = {'authorization': f'Bearer {self.tokens[token]}', 'content-type': 'application/json'}
        request = urllib.request.Request(f'{self.url}/api{path}', data, headers, method=method)
        with urllib.request.urlopen(request, timeout=WATCHDOG / 1000) as answer:
            return json.loads(answer.read() or b'null')

    def events(self, follow='*'):
        """The stream as `(event, data)`, for tests that wait for what the page does not show."""
        headers = {'authorization': f'Bearer {self.tokens["all"]}'}
        request = urllib.request.Request(f'{self.url}/api/events?follow={follow}', headers=headers)
        end = time.monotonic() + WATCHDOG / 1000
        with urllib.request.urlopen(request, timeout=WATCHDOG / 1000) as answer:
            event = None
            for line in answer:
                # The service always says something, if only that it is there.
                if time.monotonic() > end:
                    raise TimeoutError('what a test waits for does not come')
                name, _, value = line.decode().rstrip('\n').partition(': ')
                if name == 'event':
                    event = value
                elif name == 'data':
                    yield event, json.loads(value)

    def wait_for_state(self, session, *states):
        """Returns once the session is in one of these states: `idle`, `working`, `waiting`, `interrupted`, …"""
        # The stream is opened first, so that a change after the look is not missed.
        events = self.events(session)
        next(events)
        if self.api(f'/sessions/{session}')['state'] in states:
            return
        for event, data in events:
            if event in ('session', 'closed') and data['id'] == session and data['state'] in states:
                return

    def wait_for_question(self, owner, title=''):
        """Returns the question of a session, or of a call by hand, once there is one about `title`."""
        for event, data in self.events():
            for question in data['questions'] if event == 'questions' else []:
                if question['owner'] == owner and (title in question['title'] or any(title in file['path'] for file in question['files'])):
                    return question

    def answer(self, owner, approve=True, **more):
        """Answers the question of a session as another client would."""
        question = self.wait_for_question(owner)
        return self.api(f'/approvals/{owner}/{question["question"]}', {'approve': approve, **more})

    def items(self, session):
        """The timeline as the service tells it."""
        return self.api(f'/sessions/{session}/timeline?limit=1000')['items']

    # ---- Browsers ----

    def page(self, address='#/', *, size=DESKTOP, dark=False, log_in=True, token='all', proxy=None, bypass_csp=False, **more):
        """A page in a browser context of its own, logged in, at `address`."""
        if proxy:
            # Chromium asks proxies for this machine only where it is told to.
            more['proxy'] = {'server': proxy, 'bypass': '<-loopback>'}
        context = self.browser.new_context(
            viewport=size, color_scheme='dark' if dark else 'light', bypass_csp=bypass_csp,
            has_touch=size is PHONE, is_mobile=size is PHONE, reduced_motion='reduce', **more)
        context.set_default_timeout(WATCHDOG)
        context.add_init_script(REPORT_VIOLATIONS)
        if self.ui:
            serve_from(context, self.ui, self.url)
        if log_in:
            self.log_in(context, token)
        page = context.new_page()
        self._watch(page)
        self.pages.append(page)
        page.goto(f'{self.url}/{address}')
        return page

    def phone(self, address='#/', **more):
        """A page on a phone that is 390 px wide."""
        return self.page(address, size=PHONE, **more)

    def log_in(self, context, token):
        name, value = self.cookie(self.tokens[token])
        cookie = {'name': name, 'value': value, 'url': self.url, 'httpOnly': True, 'sameSite': 'Strict'}
        context.add_cookies([cookie])

    def cookie(self, code, **more):
        """The name and the value of the cookie that a browser gets for a token or the code of a link."""
        body = json.dumps({'code': code, **more}).encode()
        headers = {'origin': self.url, 'x-toolkiln': 'page', 'content-type': 'application/json'}
        request = urllib.request.Request(f'{self.url}/api/login', body, headers)
        with urllib.request.urlopen(request, timeout=WATCHDOG / 1000) as answer:
            name, _, value = answer.headers['set-cookie'].split(';')[0].partition('=')
        return name, value

    def _watch(self, page):
        def error(kind, text):
            self._errors.append(f'{kind}: {text}')

        page.on('console', lambda said: said.type == 'error' and error('console', f'{said.text} {said.location.get("url", "")}'))
        page.on('pageerror', lambda thrown: error('thrown', thrown))
        own = (self.url + '/', 'data:', 'blob:')
        page.on('request', lambda sent: sent.url.startswith(own) or error('request to elsewhere', sent.url))

    def allow(self, pattern):
        """Errors of the page that match are part of the test."""
        self._allowed.append(re.compile(pattern))

    def allow_lost_connections(self):
        self.allow(r'Failed to load resource: net::|ERR_|Failed to fetch|network error')

    def offline(self, page, is_offline=True):
        page.context.set_offline(is_offline)

    def slow(self, page, *, latency=400, bytes_per_second=50_000):
        """A slow network from now on."""
        session = page.context.new_cdp_session(page)
        session.send('Network.enable')
        conditions = {'downloadThroughput': bytes_per_second, 'uploadThroughput': bytes_per_second}
        session.send('Network.emulateNetworkConditions', {'offline': False, 'latency': latency, **conditions})

    def shot(self, page, name):
        """Keeps a picture as `target/page/NAME.png`."""
        self.shots.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=self.shots / f'{name}.png')

    def log(self, page):
        """The conversation, without what is beside it or announced to screen readers."""
        return page.get_by_role('log', name='Conversation')

    def until(self, page, condition):
        """Returns once an expression in JavaScript is true. The policy lets nothing be evaluated later, so it is one script."""
        page.evaluate(f"""() => new Promise((resolve, reject) => {{
          const end = setTimeout(() => reject(new Error('it never became true')), {WATCHDOG});
          const look = () => {{
            if (!({condition})) return requestAnimationFrame(look);
            clearTimeout(end);
            return resolve();
          }};
          look();
        }})""")

    # ---- What users do ----

    def say(self, page, text):
        """Types a message and sends it."""
        page.get_by_label('Message', exact=True).fill(text)
        page.keyboard.press('Enter')

    def begin(self, page, text):
        """Says something on the first page; answers the id of the session that it begins."""
        self.say(page, text)
        page.wait_for_url(re.compile('#/session/'))
        return self.session(page)

    def session(self, page):
        """The id of the session that a page shows."""
        return re.search(r'#/session/([^/?]+)', page.url)[1]

    def ready_question(self, page):
        """The question, once it takes an answer."""
        asked = page.locator('.ask[data-ready=true]')
        asked.wait_for()
        return asked

    # ---- The end ----

    def unexpected(self):
        return [error for error in self._errors if not any(allowed.search(error) for allowed in self._allowed)]

    def __enter__(self):
        return self.start()

    def __exit__(self, failed, *_):
        try:
            if failed:
                self._keep_what_is_seen()
        finally:
            for page in self.pages:
                page.context.close()
            self.kill()
            self.model.close()
            stderr = (self.home / 'stderr').read_text()
            self._kept.cleanup()
        if failed:
            print(f'{self.name}: errors of the page: {self.unexpected()}\n{stderr}', end='')
        else:
            assert not self.unexpected(), '\n'.join(self.unexpected())
            assert 'panicked' not in stderr, stderr

    def _keep_what_is_seen(self):
        for number, page in enumerate(self.pages):
            try:
                self.shot(page, f'failed-{self.name}-{number}')
            except Exception as error:  # noqa: BLE001 - the page may be what has failed
                print(f'no picture of {self.name}: {error}')


def status_of(action):
    """The status of a request to the API, refused or not."""
    try:
        action()
        return 200
    except urllib.error.HTTPError as error:
        return error.code
