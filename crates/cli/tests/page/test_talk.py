"""The conversation and the field below it."""

import json
import re
import subprocess

from model import call, thought

READS = [call('read_file', path='src/main.rs'), call('read_file', path='README.md'), call('list_directory', path='.')]
CHANGED = '# Demo\n\nIt says goodbye.\n'


def field(page):
    return page.get_by_role('textbox', name='Message', exact=True)


def choose(page, button, *labels):
    button.click()
    for label in labels:
        page.get_by_role('menuitem', name=label).click()


# ---- The conversation ----


def test_calls_that_only_look_are_one_line_that_opens_by_keyboard(world):
    world.model.reply('I look first.', *READS)
    world.model.reply('It says hello.')
    page = world.page()
    world.begin(page, 'What does it say?')
    fold = world.log(page).get_by_role('button', name='Read 2 files')
    page.locator('.turn-end').wait_for()
    assert fold.get_attribute('aria-expanded') == 'false'
    fold.focus()
    page.keyboard.press('Enter')
    single = world.log(page).get_by_role('button', name='Read src/main.rs')
    single.focus()
    page.keyboard.press('Enter')
    page.locator('.detail').get_by_text('println!').wait_for()
    assert '"path": "src/main.rs"' in page.locator('.detail').text_content()
    page.keyboard.press('Enter')
    page.locator('.detail').wait_for(state='detached')


def test_an_opened_change_shows_its_lines(world):
    world.model.reply('I write.', call('write_file', path='README.md', content=CHANGED))
    page = world.page()
    session = world.begin(page, 'Say goodbye')
    world.model.reply('Done.')
    world.answer(session)
    page.locator('.turn-end').wait_for()
    world.log(page).get_by_role('button', name=re.compile('README.md')).click()
    detail = page.locator('.detail')
    assert detail.locator('.change-lines .remove').text_content().strip() == '− It says hello.'
    assert detail.locator('.change-lines .add').text_content().strip() == '+ It says goodbye.'
    world.shot(page, 'talk-change')


def test_what_a_command_prints_is_seen_while_it_runs_and_the_turn_can_be_stopped(world):
    world.model.reply('I run it.', call('bash', command='echo first line; sleep 60'))
    page = world.page()
    session = world.begin(page, 'Run it')
    page.locator('.live').get_by_text('first line').wait_for()
    page.locator('.doing').get_by_text('Run echo').wait_for()
    world.shot(page, 'talk-live')
    page.get_by_role('button', name='Stop').click()
    world.wait_for_state(session, 'idle')
    world.log(page).get_by_text('Stopped').wait_for()
    assert page.locator('.doing').count() == 0


def test_plans_thoughts_and_sub_agents_have_their_places(world):
    steps = [{'text': 'Look', 'status': 'done'}, {'text': 'Change', 'status': 'in_progress'}, {'text': 'Test', 'status': 'pending'}]
    model = world.model
    model.reply(thought('What is meant?'), 'I plan.', call('plan', steps=steps), to='Say goodbye')
    model.reply('A helper looks.', call('delegate', task='Find greetings'), to='Say goodbye')
    model.reply('I search.', *READS, to='Find greetings')
    model.reply('There are two.', to='Find greetings')
    model.reply('Good.', to='Say goodbye')
    session = world.api('/sessions', {})['id']
    world.api(f'/sessions/{session}/messages', {'text': 'Say goodbye'})
    world.wait_for_state(session, 'idle')
    page = world.page(f'#/session/{session}')
    log = world.log(page)
    plan = log.get_by_role('list', name='Plan')
    plan.wait_for()
    assert [step.text_content() for step in plan.locator('li').all()] == ['✓Done: Look', '▸Now: Change', '○To do: Test']
    assert log.get_by_text('What is meant?').count() == 0
    log.get_by_role('button', name='Thought for').click()
    log.get_by_text('What is meant?').wait_for()
    assert log.get_by_text('There are two.').count() == 0, 'a finished sub-agent is folded'
    log.get_by_role('button', name='Show what the sub-agent did').press('Enter')
    inner = log.locator('.agent .inner').first
    inner.get_by_text('There are two.').wait_for()
    inner.get_by_role('button', name='Read 2 files').wait_for()
    world.shot(page, 'talk-agent')


def test_a_long_message_is_cut_until_it_is_opened(world):
    world.model.reply('Long.')
    page = world.page()
    world.begin(page, 'a line\n' * 60 + 'the end')
    page.locator('.turn-end').wait_for()
    assert 'the end' not in page.locator('.words').text_content()
    page.get_by_role('button', name='Show all').click()
    assert 'the end' in page.locator('.words').text_content()


def test_markdown_in_pieces_is_what_it_is_as_a_whole(world):
    page = world.page()
    wrong = page.evaluate(r"""async () => {
      const { MarkdownReader } = await import('/markdown.js');
      const shape = ({ finished, open }) => JSON.stringify([...finished, ...open].filter(({ type }) => type !== 'space')
        .map(({ type, raw, lang, text, parts, items, rows }) => (type === 'code' ? [type, lang, text]
          : [type, raw.trimEnd(), [...(parts ?? []), items ?? rows ?? []].map((part) => part.map((one) => one.tokens?.map((token) => token.type)
            ?? one.map((cell) => cell.text)))])));
      const texts = [
        '# A\n\nPara *x*\nmore\n\n- a\n- b\n\n- c\n\n```rust\nfn main() {}\n\n```\nafter\n\n| a | b |\n|--|--|\n| 1 | 2 |\n\n> q\n> r\n',
        '1. x\n   ```js\n   1\n   ```\n2. y\n', 'x\r\n\r\ny\r\n', '```\nnot closed', '~~~\na\n```\nb\n~~~\nz', '````md\n```\nin\n```\n````\nend',
        'Title\n===\n\ntext', '```js\n```\nx', '```a`b```\ntext', '    indented\n\n    more\n\nx', '<div>\nhi\n</div>\n\nx', '- [ ] a\n- [x] b',
        '- a\n- b\n'.repeat(9), '1. a\n\n   more\n2. b\n'.repeat(11), '- a\n  - b\n  - c\n'.repeat(30) + '\nafter\n\n- x\n', 'a\n\n- x\n'.repeat(9),
        `| a | b |\n|--|--|\n${'| 1 | **2** |\n'.repeat(40)}\nafter`, `| a |\n|--|\n${'| 1 |\n'.repeat(33)}# Head`, '- a\n'.repeat(17) + '```\nx\n```\n- b\n',
        'word '.repeat(9000), '- item\n'.repeat(5000), `| a | b |\n|--|--|\n${'| 1 | 2 |\n'.repeat(3000)}`,
      ];
      return texts.filter((text) => {
        const reader = new MarkdownReader();
        const step = text.length > 1000 ? 997 : 1;
        for (let end = step; end < text.length + step; end += step) reader.take(text.slice(0, end));
        return shape(reader) !== shape(new MarkdownReader().take(text));
      });
    }""")
    assert wrong == []


def test_markup_and_addresses_that_act_are_text(world):
    world.model.reply('<b>raw</b> [bad](javascript:alert(1)) [good](https://example.org/x) ![shot](https://example.org/shot.png) &lt;tag&gt;')
    page = world.page()
    world.begin(page, 'Show')
    page.locator('.turn-end').wait_for()
    prose = page.locator('.prose')
    assert prose.text_content().strip() == '<b>raw</b> bad good Image: shot <tag>'
    assert [link.get_attribute('href') for link in prose.locator('a').all()] == ['https://example.org/x', 'https://example.org/shot.png']
    assert prose.locator('img, b').count() == 0


def long_session(world, turns):
    """A session of 14 items a turn, made from the log of a short one."""
    world.model.reply('Look', call('read_file', path='src/main.rs'))
    world.model.reply('Seen.')
    short = world.api('/sessions', {})['id']
    world.api(f'/sessions/{short}/messages', {'text': 'Look'})
    world.wait_for_state(short, 'idle')

    def sessions(*arguments, **more):
        command = [world.binary, 'sessions', *arguments]
        return subprocess.run(command, cwd=world.project, env=world.environment, check=True, capture_output=True, text=True, **more).stdout

    head, opened, *entries = map(json.loads, sessions('export', short).splitlines())
    entries = [entry for entry in entries if entry['type'] != 'text_delta']
    log = [opened]
    for turn in range(turns):
        for entry in entries:
            text = json.dumps(entry)
            if entry['type'] == 'user_message':
                text = text.replace('Look', f'Message {turn}')
            copy = json.loads(re.sub(r'"(call_[^"]*)"', rf'"\1_{turn}"', text))
            log.append({**copy, 'sequence': len(log) + 1})
    lines = [{**head, 'last': len(log)}, *log]
    return sessions('import', input='\n'.join(map(json.dumps, lines)) + '\n').split()[-1]


def test_a_long_session_is_a_window_that_moves_without_a_jump(world):
    session = long_session(world, 400)
    total = world.api(f'/sessions/{session}/timeline?limit=1')['total']
    assert total >= 2000
    page = world.page(f'#/session/{session}')
    log = world.log(page)
    log.get_by_text('Message 399', exact=True).wait_for()
    at_end = "(() => { const { scrollHeight, scrollTop, clientHeight } = document.querySelector('.log'); return scrollHeight - scrollTop - clientHeight < 2; })()"
    world.until(page, at_end)
    # Earlier items come in above what is read, which stays where it is.
    with page.expect_request(re.compile('before=')):
        held = []
        page.route(re.compile('before='), lambda route: held.append(route))
        page.evaluate("document.querySelector('.log').scrollTop = 300")
    page.evaluate("""() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => {
      globalThis.seen = [...document.querySelectorAll('.item')].find((item) => item.getBoundingClientRect().top > 200);
      globalThis.was = seen.getBoundingClientRect().top;
      globalThis.count = document.querySelectorAll('.item').length;
      resolve();
    })))""")
    held[0].continue_()
    page.unroute(re.compile('before='))
    world.until(page, "document.querySelectorAll('.item').length > count")
    moved = page.evaluate('seen.isConnected && Math.abs(seen.getBoundingClientRect().top - was)')
    assert moved is not False and moved < 2, f'the text moved by {moved} pixels'
    log.focus()
    page.keyboard.press('Home')
    log.get_by_text('Message 0', exact=True).wait_for()
    for _ in range(12):
        page.evaluate("document.querySelector('.log').scrollTop = 1e9")
        world.until(page, "document.querySelector('.log').scrollTop > 0")
    assert page.locator('.item').count() <= 800
    page.get_by_role('button', name='Back to the newest').click()
    log.get_by_text('Message 399', exact=True).wait_for()
    world.until(page, at_end)


def test_the_reader_stays_in_place_while_text_streams(world):
    gate = world.model.gate()
    world.model.reply('First line.\n\n' * 60, gate, 'Another line.\n\n' * 60)
    page = world.page()
    world.begin(page, 'Tell me more')
    gate.wait_until_reached()
    world.until(page, "document.querySelector('.log').scrollTop > 400")
    page.evaluate("document.querySelector('.log').scrollTop = 100")
    page.get_by_role('button', name='Back to the newest').wait_for()
    gate.open()
    page.locator('.turn-end').wait_for(state='attached')
    assert page.evaluate("document.querySelector('.log').scrollTop") == 100


def test_a_page_with_a_session_takes_fifteen_requests(world):
    world.model.reply('An **answer**.')
    page = world.page()
    session = world.begin(page, 'Hello')
    page.locator('.turn-end').wait_for()
    asked = []
    page.on('request', lambda request: asked.append(request.url))
    page.goto(f'{world.url}/#/session/{session}')
    page.reload()
    page.locator('.turn-end').wait_for()
    # What the page before it still asked for is not counted.
    asked = asked[asked.index(f'{world.url}/'):]
    assert len(asked) <= 15, asked


# ---- The field ----


def test_enter_sends_shift_enter_breaks_and_arrow_up_brings_back(world):
    world.model.reply('Good.')
    page = world.page()
    field(page).fill('one')
    page.keyboard.press('Shift+Enter')
    page.keyboard.type('two')
    assert field(page).input_value() == 'one\ntwo'
    page.keyboard.press('Enter')
    page.locator('.turn-end').wait_for()
    assert field(page).input_value() == ''
    field(page).press('ArrowUp')
    assert field(page).input_value() == 'one\ntwo'
    field(page).press('ArrowDown')
    assert field(page).input_value() == ''


def test_a_file_is_completed_and_goes_with_the_message(world):
    world.model.reply('Seen.')
    page = world.page()
    field(page).press_sequentially('look at @main.r')
    page.get_by_role('option', name='main.rs').wait_for()
    assert field(page).get_attribute('aria-activedescendant') == 'suggestion-0'
    page.keyboard.press('Escape')
    page.get_by_role('listbox').wait_for(state='detached')
    page.keyboard.type('s')
    page.get_by_role('option', name='main.rs').wait_for()
    page.keyboard.press('Tab')
    page.get_by_role('button', name='Remove src/main.rs').wait_for()
    assert field(page).input_value() == 'look at src/main.rs '
    page.keyboard.press('Enter')
    world.log(page).locator('.attached summary').get_by_text('src/main.rs, 3 lines').wait_for()
    world.model.wait_for_requests(1)
    assert 'println' in json.dumps(world.model.requests[0])


def test_commands_are_offered_and_run(world):
    world.model.reply('Good.')
    page = world.page()
    world.begin(page, 'Hello')
    page.locator('.turn-end').wait_for()
    field(page).press_sequentially('/di')
    page.get_by_role('option', name='/diff').wait_for()
    page.keyboard.press('Enter')
    world.until(page, "document.querySelector('textarea').value === '/diff'")
    page.keyboard.press('Enter')
    page.wait_for_url(re.compile('/history$'))
    field(page).fill('/new')
    field(page).press('Enter')
    page.get_by_role('heading', name='What should be done?').wait_for()


def test_what_is_typed_while_a_message_is_sent_stays(world):
    page = world.page()
    held = []
    page.route('**/messages', lambda route: held.append(route))
    field(page).fill('First')
    with page.expect_request('**/messages'):
        page.keyboard.press('Enter')
    page.keyboard.type(' and more')
    world.model.reply('Yes.')
    held[0].continue_()
    world.log(page).get_by_text('First', exact=True).wait_for()
    world.until(page, "document.querySelector('.prompt textarea').value.trim() === 'and more'")


def test_a_large_paste_is_a_chip_that_opens(world):
    world.model.reply('Long.')
    page = world.page()
    field(page).focus()
    page.evaluate("""() => {
      const data = new DataTransfer();
      data.setData('text/plain', 'a line <b>\\n'.repeat(99));
      document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
    }""")
    page.get_by_role('button', name='Pasted text, 100 lines', exact=True).click()
    page.get_by_role('textbox', name='Pasted text').fill('only this')
    world.say(page, 'See')
    world.log(page).get_by_text('See only this').wait_for()


def test_text_files_are_attached_and_others_refused(world):
    page = world.page()
    chooser = page.locator('input[type=file]')
    chooser.set_input_files([
        {'name': 'notes.txt', 'mimeType': 'text/plain', 'buffer': b'remember ```this```\n'},
        {'name': 'tool.bin', 'mimeType': 'application/octet-stream', 'buffer': b'\xff\x00\xfe'},
    ])
    page.get_by_role('button', name='Remove notes.txt').wait_for()
    page.get_by_text('tool.bin is neither text nor an image').wait_for()
    world.model.reply('Good.')
    world.begin(page, 'Read it')
    page.locator('.turn-end').wait_for()
    world.log(page).get_by_text('notes.txt, 1 line').wait_for()
    assert page.locator('.words').text_content() == 'Read it'


def test_a_message_that_waits_is_taken_back_and_edited(world):
    gate = world.model.gate()
    world.model.reply('I think', gate, ' about it.')
    page = world.page()
    world.begin(page, 'Think')
    gate.wait_until_reached()
    world.say(page, 'And this')
    waiting = page.get_by_role('list', name='Waiting to be sent')
    waiting.get_by_text('And this').wait_for()
    waiting.get_by_role('button', name='Edit').click()
    waiting.wait_for(state='detached')
    assert field(page).input_value() == 'And this'
    gate.open()
    page.locator('.turn-end').wait_for()


def test_models_are_offered_in_a_menu_that_escape_closes(world):
    page = world.page()
    page.get_by_role('button', name='Model: opus').click()
    page.get_by_role('menu').wait_for()
    page.get_by_role('menuitemradio').first.wait_for()
    page.keyboard.press('Escape')
    page.get_by_role('menu').wait_for(state='detached')


# ---- Going back, and the list ----


def test_going_back_dims_what_was_said_and_fills_the_field(world):
    world.model.reply('One.')
    page = world.page()
    session = world.begin(page, 'First')
    page.locator('.turn-end').wait_for()
    menu = page.get_by_role('button', name='Go back, fork or copy')
    menu.focus()
    page.keyboard.press('Enter')
    page.get_by_role('menuitem', name='Go back to here').wait_for()
    world.until(page, "document.activeElement.getAttribute('role') === 'menuitem'")
    page.keyboard.press('ArrowDown')
    assert page.evaluate('document.activeElement.textContent').startswith('Go back, files too')
    page.keyboard.press('Escape')
    page.get_by_role('menu').wait_for(state='detached')
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == 'Go back, fork or copy'
    menu.click()
    page.get_by_role('menu').wait_for()
    page.mouse.click(640, 500)
    page.get_by_role('menu').wait_for(state='detached')

    choose(page, menu, 'Go back to here')
    page.locator('.item.message.rewound').wait_for()
    world.until(page, "document.querySelector('textarea').value === 'First'")
    world.shot(page, 'talk-rewound')
    choose(page, menu, 'New session from here')
    world.until(page, f"!location.hash.includes('{session}')")
    world.until(page, "document.querySelector('textarea').value === 'First'")


def test_a_session_is_renamed_and_deleted_from_the_list(world):
    world.model.reply('One.')
    page = world.page()
    session = world.begin(page, 'First')
    page.locator('.turn-end').wait_for()
    menu = page.get_by_role('button', name='Rename, export or delete')
    choose(page, menu, 'Rename')
    page.get_by_role('textbox', name='Name of the session').fill('<i>Another</i> name')
    page.keyboard.press('Enter')
    page.get_by_role('heading', name='<i>Another</i> name').wait_for()
    world.until(page, "document.title === '<i>Another</i> name · Toolkiln'")
    assert world.api(f'/sessions/{session}')['title'] == '<i>Another</i> name'
    choose(page, menu, 'Delete…', 'Delete it for good')
    page.get_by_role('heading', name='What should be done?').wait_for()
    assert page.get_by_text('Another').count() == 0


def test_the_title_says_what_waits_and_screen_readers_hear_it(world):
    world.model.reply('I write.', call('write_file', path='README.md', content=CHANGED))
    page = world.page(log_in=True)
    page.add_init_script('delete Document.prototype.ariaNotify')
    page.reload()
    icon = page.locator('link[rel=icon]').get_attribute('href')
    session = world.begin(page, 'Say goodbye')
    world.until(page, "document.title.startsWith('(1) ')")
    assert page.locator('link[rel=icon]').get_attribute('href') != icon
    page.get_by_role('log', name='News').get_by_text('Question:').wait_for(state='attached')
    world.model.reply('It is **done**.')
    world.answer(session)
    page.get_by_role('log', name='News').get_by_text('It is **done**.').wait_for(state='attached')
    world.until(page, "!document.title.startsWith('(')")


# ---- The connection ----


def test_a_login_that_expires_leaves_the_draft(world):
    world.allow('status of 401')
    page = world.page()
    field(page).fill('half a thought')
    page.context.clear_cookies()
    field(page).press('Enter')
    page.get_by_label('Token').fill(world.tokens['all'])
    page.get_by_role('button', name='Log in').click()
    page.get_by_label('Token').wait_for(state='detached')
    assert field(page).input_value() == 'half a thought'
    world.model.reply('A whole one.')
    world.begin(page, field(page).input_value())
    world.log(page).get_by_text('A whole one.').wait_for()


def test_a_message_that_waited_when_the_service_was_killed_is_in_the_field_again(world):
    world.allow_lost_connections()
    gate = world.model.gate()
    world.model.reply('I think', gate, ' about it.')
    page = world.page()
    session = world.begin(page, 'Think')
    gate.wait_until_reached()
    world.log(page).get_by_text('I think').wait_for()
    world.say(page, 'And this')
    page.get_by_role('list', name='Waiting to be sent').wait_for()
    world.restart()
    world.until(page, "document.querySelector('textarea').value === 'And this'")
    world.log(page).get_by_text('The answer broke off here.').wait_for()
    assert [item['text'] for item in world.items(session) if item['kind'] == 'message'] == ['Think']


def test_a_message_that_was_written_although_its_answer_was_lost_is_not_said_twice(world):
    world.allow_lost_connections()
    world.model.reply('First.')
    page = world.page()
    session = world.begin(page, 'One')
    page.locator('.turn-end').wait_for()
    world.model.reply('Second.')

    def lose(route):
        route.fetch()
        route.abort()

    page.route(re.compile('/messages$'), lose)
    world.say(page, 'Two')
    world.log(page).get_by_text('Second.').wait_for()
    world.until(page, "document.querySelector('textarea').value === ''")
    assert [item['text'] for item in world.items(session) if item['kind'] == 'message'] == ['One', 'Two']


# ---- A phone ----


def test_a_phone_has_room_for_menus_and_large_targets(world):
    world.model.reply('Look.', *READS)
    world.model.reply('`' + 'x' * 300 + '`\n\n| a | b |\n|--|--|\n| ' + 'word ' * 60 + ' | 2 |')
    page = world.phone()
    world.begin(page, 'Look ' + 'y' * 200)
    page.locator('.turn-end').wait_for()
    assert page.evaluate('document.documentElement.scrollWidth') <= 390
    for name in ['Send', 'Attach files', 'Go back, fork or copy', 'Panels', 'Sessions']:
        box = page.get_by_role('button', name=name).bounding_box()
        assert box['width'] >= 44 and box['height'] >= 44, f'{name}: {box}'
    page.get_by_role('button', name='Go back, fork or copy').tap()
    box = page.get_by_role('menu').bounding_box()
    assert box['x'] >= 0 and box['x'] + box['width'] <= 390
    world.shot(page, 'talk-phone')
