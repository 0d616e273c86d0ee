"""Text that would be more than text if it could: shown as it is, in every field, and nothing of it runs."""

from model import Fault, call
from views import VIEWS, open_view

MARK = 'window.pwned=1'
MARKUP = f'<img src=x onerror="{MARK}"><svg onload="{MARK}"></svg><script>{MARK}</script></script></textarea></style>'
TERMINAL = '\x1b[31mred\x1b]0;title\x07\x1b[2J'
BIDI = 'invoice\u202egnp.exe\u2066\u2069'
LINKS = f'[click](javascript:{MARK}) [data](data:text/html,<script>{MARK}</script>) ![seen](https://elsewhere.example/x.png) <https://elsewhere.example>'
LONG = 'x' * 4000
HOSTILE = f'{MARKUP} {TERMINAL} {BIDI} {LINKS} {LONG}'
NAME = f'<img src=x onerror={MARK.replace("/", "")}>\u202egnp.txt'
FILES = {'src/main.rs': f'// {MARKUP}\nfn main() {{}}\n', NAME: HOSTILE, 'README.md': HOSTILE}


def nothing_ran(page, where):
    assert page.evaluate('window.pwned') is None, f'{where}: a script of a text was run'
    made = page.evaluate('''() => [
      ...document.querySelectorAll('iframe, object, embed, base, [onerror], [onload], [onclick], img[src="x"], meta[http-equiv]'),
      ...[...document.querySelectorAll('a[href], form[action]')].filter((it) => /^(javascript|data|vbscript):/i.test(it.href ?? it.action)),
      ...[...document.scripts].filter((it) => it.src ? !it.src.startsWith(location.origin) : it.type !== 'importmap'),
    ].map((it) => it.outerHTML.slice(0, 200))''')
    assert not made, f'{where}: {made}'


def test_every_field_of_a_conversation_and_every_view(world):
    world.git('commit', '-q', '--allow-empty', '-m', HOSTILE)
    world.model.reply(
        HOSTILE, call('bash', command=f"cat '{NAME}'"), call('read_file', path=NAME), call('grep', pattern=MARK),
        call('read_file', path=f'{MARKUP}/missing'), call(f'no_such_tool{BIDI}', argument=MARKUP))
    session = world.api('/sessions', {})['id']
    world.api(f'/sessions/{session}', {'title': HOSTILE[:180]}, method='PATCH')
    world.api(f'/sessions/{session}/messages', {'text': HOSTILE})
    world.model.reply('I write it.', call('write_file', path=NAME, content=HOSTILE + MARKUP))
    world.wait_for_question(session)
    # The command is asked about first where commands need an approval.
    if len(world.model.requests) == 1:
        world.answer(session)
    world.wait_for_question(session, NAME[:8])
    page = world.page(f'#/session/{session}')
    world.ready_question(page)
    assert MARKUP[:30] in world.log(page).text_content(), 'markup is not shown as text'
    folded = world.log(page).locator('button[aria-expanded=false]')
    while folded.count():
        folded.first.click()
    nothing_ran(page, 'conversation')
    world.shot(page, 'hostile')
    for name, address in VIEWS:
        open_view(world, page, address, session)
        nothing_ran(page, name)
        assert page.evaluate('document.documentElement.scrollWidth <= innerWidth'), f'{name} scrolls sideways'
        world.shot(page, f'hostile-{name}')


def test_a_question_shows_what_turns_text_around(world):
    world.model.reply('I write it.', call('write_file', path=f'{BIDI}.txt', content='x'))
    page = world.page()
    world.begin(page, 'Write')
    asked = world.ready_question(page)
    shown = asked.text_content()
    assert '\u202e' not in shown and '\u2066' not in shown, f'the name reads as another one: {shown!r}'
    world.shot(page, 'hostile-question')


def test_errors_and_rejected_requests(world):
    world.model.reply(Fault(400, HOSTILE))
    page = world.page()
    world.begin(page, HOSTILE)
    world.log(page).locator('.notice').first.wait_for()
    nothing_ran(page, 'an error of the provider')
    world.shot(page, 'hostile-error')
    for address in (f'#/session/{MARKUP}', f'#/{MARKUP}', '#/session/%E0%A4%A', '#/session/../../api', '#code=<script>'):
        world.allow('status of 40[0-9]')
        world.allow('URI malformed')
        page.goto(f'{world.url}/{address}')
        page.locator('main').wait_for()
        nothing_ran(page, address)


def test_text_streams_in_pieces_that_are_harmless_alone(world):
    pieces = ['<im', 'g src=x oner', f'ror="{MARK}">', '[a](java', f'script:{MARK})', '<scr', f'ipt>{MARK}</scr', 'ipt>']
    gates = [world.model.gate() for _ in pieces]
    world.model.reply(*(part for pair in zip(pieces, gates) for part in pair))
    page = world.page()
    world.begin(page, 'Go')
    for gate in gates:
        gate.wait_until_reached()
        gate.open()
        nothing_ran(page, 'a piece')
    page.locator('.turn-end').wait_for()
    nothing_ran(page, 'the whole')
    assert ''.join(pieces[:3]) in world.log(page).text_content()
