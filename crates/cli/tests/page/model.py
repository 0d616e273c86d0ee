"""A model that answers what the test has put into its queue, over real HTTP, in the form of Chat Completions.

Nothing in it waits for time to pass: a request waits for a reply in the queue, and a reply waits at its gates.
"""

import http.server
import json
import threading


class Gate:
    """A place in a reply where it waits until the test lets it go on."""

    def __init__(self):
        self._arrived = threading.Event()
        self._open = threading.Event()

    def open(self):
        self._open.set()

    def wait_until_reached(self, seconds=30):
        """Returns once everything before the gate was sent."""
        assert self._arrived.wait(seconds), 'the model never came to the gate'

    def pass_through(self):
        self._arrived.set()
        self._open.wait()


class Fault:
    """An answer that is an error of the provider."""

    def __init__(self, status, message='it does not work'):
        self.status = status
        self.message = message


class Cut:
    """The connection ends here, in the middle of the reply."""


def call(tool, **arguments):
    """A piece of a reply: the model calls a tool."""
    return {'name': tool, 'arguments': json.dumps(arguments)}


def thought(text):
    """A piece of a reply: the model thinks aloud."""
    return {'reasoning': text}


class ScriptedModel:
    """`base_url` is what `toolkiln web --base-url` is given; `requests` is what it was sent."""

    def __init__(self):
        self.requests = []
        self._replies = []
        self._gates = []
        self._changed = threading.Condition()
        self._is_closed = False
        model = self

        class Handler(_Handler):
            scripted = model

        self._server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self._server.daemon_threads = True
        self.base_url = f'http://127.0.0.1:{self._server.server_address[1]}/v1'
        threading.Thread(target=self._server.serve_forever, kwargs={'poll_interval': 0.05}, daemon=True).start()

    def reply(self, *pieces, to=None):
        """Puts a reply into the queue: texts, `call(…)`, `thought(…)`, gates, a `Cut`, or one `Fault`.

        With `to`, it answers only a request whose last user message contains that text.
        """
        with self._changed:
            self._replies.append((to, pieces))
            self._gates.extend(piece for piece in pieces if isinstance(piece, Gate))
            self._changed.notify_all()

    def gate(self):
        return Gate()

    def wait_for_requests(self, count, seconds=30):
        """Returns once the model was asked that many times."""
        with self._changed:
            came = self._changed.wait_for(lambda: len(self.requests) >= count, seconds)
        assert came, f'the model was asked {len(self.requests)} times, not {count}'

    def close(self):
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        for gate in self._gates:
            gate.open()
        self._server.shutdown()
        self._server.server_close()

    def next_reply(self, request):
        """The first reply in the queue that is for this request; waits until there is one."""
        said = last_user_text(request)
        with self._changed:
            self.requests.append(request)
            self._changed.notify_all()
            while not self._is_closed:
                for index, (to, pieces) in enumerate(self._replies):
                    if to is None or to in said:
                        del self._replies[index]
                        return pieces
                self._changed.wait()
        return None


def last_user_text(request):
    texts = [message['content'] for message in request['messages'] if message['role'] == 'user']
    last = texts[-1] if texts else ''
    return last if isinstance(last, str) else ' '.join(part.get('text', '') for part in last)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *_):
        pass

    def do_GET(self):
        self._json(200, {'data': [{'id': name} for name in ('m-small', 'm-large', 'opus')]})

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers['content-length'])))
        pieces = self.scripted.next_reply(request)
        try:
            if pieces is None:
                self.close_connection = True
            elif pieces and isinstance(pieces[0], Fault):
                self._json(pieces[0].status, {'error': {'message': pieces[0].message}})
            else:
                self._stream(request, pieces)
        except OSError:
            # The service was killed, or its user has interrupted it.
            self.close_connection = True

    def _json(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header('content-type', 'application/json')
        self.send_header('content-length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, request, pieces):
        self.send_response(200)
        self.send_header('content-type', 'text/event-stream')
        self.send_header('transfer-encoding', 'chunked')
        self.end_headers()
        calls = 0
        for piece in pieces:
            if isinstance(piece, Gate):
                piece.pass_through()
            elif isinstance(piece, Cut):
                self.close_connection = True
                return
            elif isinstance(piece, str):
                self._delta({'content': piece})
            elif 'reasoning' in piece:
                self._delta(piece)
            else:
                place = {'index': calls, 'id': f'call_{len(request["messages"])}_{calls}', 'type': 'function'}
                self._delta({'tool_calls': [{**place, 'function': piece}]})
                calls += 1
        self._delta({}, 'tool_calls' if calls else 'stop')
        usage = {'prompt_tokens': 1200, 'completion_tokens': 80, 'total_tokens': 1280}
        self._event({**CHUNK, 'choices': [], 'usage': usage})
        self._write(b'data: [DONE]\n\n')
        self.wfile.write(b'0\r\n\r\n')

    def _delta(self, delta, finish=None):
        self._event({**CHUNK, 'choices': [{'index': 0, 'delta': delta, 'finish_reason': finish}]})

    def _event(self, value):
        self._write(b'data: ' + json.dumps(value).encode() + b'\n\n')

    def _write(self, data):
        self.wfile.write(b'%x\r\n%s\r\n' % (len(data), data))
        self.wfile.flush()


CHUNK = {'id': 'x', 'object': 'chat.completion.chunk', 'model': 'opus'}
