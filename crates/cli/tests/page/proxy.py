"""A network between the page and the service that a test can make as bad as it likes. It never waits for time to pass."""

import http.client
import http.server
import socket
import struct
import threading


class CutOff(Exception):
    """Raised by what tampers with a stream: the connection breaks here, without a farewell."""


class Proxy:
    """An HTTP proxy. `tamper(number, pieces)` makes what the page gets of its stream with that number from what the service sends."""

    def __init__(self, tamper=None):
        proxy = self
        self.tamper = tamper or (lambda number, pieces: pieces)
        self.streams = 0
        self.is_down = False
        self._open = set()

        class Handler(_Handler):
            owner = proxy

        self._server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self._server.daemon_threads = True
        self.address = f'http://127.0.0.1:{self._server.server_address[1]}'
        threading.Thread(target=self._server.serve_forever, kwargs={'poll_interval': 0.05}, daemon=True).start()

    def down(self):
        """Breaks all connections and takes no others."""
        self.is_down = True
        for connection in list(self._open):
            reset(connection)

    def up(self):
        self.is_down = False

    def opened(self, connection):
        self._open.add(connection)

    def closed(self, connection):
        self._open.discard(connection)

    def close(self):
        self._server.shutdown()
        self._server.server_close()


def reset(connection):
    """Closes a connection at once, without what was not sent yet."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    connection.shutdown(socket.SHUT_RDWR)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *_):
        pass

    def _pass_on(self):
        self.close_connection = True
        self.owner.opened(self.connection)
        _, _, host, path = self.path.split('/', 3)
        service = http.client.HTTPConnection(host)
        try:
            if self.owner.is_down:
                raise CutOff
            self._relay(service, path)
        except (CutOff, OSError, http.client.HTTPException):
            self._reset()
        finally:
            self.owner.closed(self.connection)
            service.close()

    def _relay(self, service, path):
        body = self.rfile.read(int(self.headers.get('content-length') or 0))
        headers = {name: value for name, value in self.headers.items() if not name.lower().startswith('proxy-')}
        service.request(self.command, f'/{path}', body or None, {**headers, 'connection': 'close'})
        answer = service.getresponse()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ('transfer-encoding', 'connection'):
                self.send_header(name, value)
        self.send_header('connection', 'close')
        self.end_headers()
        pieces = iter(lambda: answer.read1(65536), b'')
        if path.startswith('api/events'):
            self.owner.streams += 1
            pieces = self.owner.tamper(self.owner.streams, pieces)
        for piece in pieces:
            self.wfile.write(piece)
            self.wfile.flush()

    def _reset(self):
        try:
            reset(self.connection)
        except OSError:
            # It was closed by the other side already.
            pass

    do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = do_HEAD = _pass_on


def events(pieces):
    """A stream cut into whole events."""
    rest = b''
    for piece in pieces:
        *whole, rest = (rest + piece).split(b'\n\n')
        yield from (event + b'\n\n' for event in whole)


def one_by_one(_, pieces):
    """Every byte in a packet of its own, also those in the middle of a letter."""
    for piece in pieces:
        for at in range(len(piece)):
            yield piece[at:at + 1]


def everything_twice(_, pieces):
    """Every event comes two times."""
    for event in events(pieces):
        yield event
        yield event


def cut_in_the_middle_of_items(times):
    """The first connections break in the middle of an event that has items."""
    def tamper(number, pieces):
        for event in events(pieces):
            if number <= times and b'event: items' in event:
                yield event[:len(event) // 2]
                raise CutOff
            yield event
    return tamper
