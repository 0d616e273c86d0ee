"""The review: every way to answer a question, by pointer, by keys and by thumb."""

import re
import threading
from contextlib import suppress

from harness import PHONE
from model import call

LONG = ''.join(f'line {number}\n' for number in range(1, 61))
REVISED = LONG.replace('line 3\n', 'line three\n').replace('line 20\n', '').replace('line 40\n', 'line 40\nand one more\n')
FILES = {
    'src/main.rs': 'fn main() {\n    println!("hello");\n}\n',
    'README.md': '# Demo\n\nIt says hello.\n',
    'long.txt': LONG,
    'dos.txt': 'one\r\ntwo\r\n',
}


def asked(world, path, content, *, page=None, to='Change it'):
    """A session that has read a file and asks whether it may be written; and a page with its review."""
    world.model.reply(call('read_file', path=path))
    world.model.reply('I change it.', call('write_file', path=path, content=content))
    session = world.api('/sessions', {})['id']
    world.api(f'/sessions/{session}/messages', {'text': to})
    world.wait_for_question(session)
    page = page or world.page(f'#/session/{session}/review')
    page.locator('.review .diff').first.wait_for()
    return session, page


def by_hand(world, tool, **arguments):
    """Calls a tool as the console does. It waits for its question, so it runs beside the test."""
    def run():
        # The service may be gone before it is answered.
        with suppress(OSError):
            world.api(f'/tools/{tool}', {'arguments': arguments})

    threading.Thread(target=run, daemon=True).start()
    return world.wait_for_question('project:demo')


def act(page, name):
    """Presses a button of the review once it takes an answer."""
    button = page.locator('.review-answer').get_by_role('button', name=name)
    button.and_(page.locator(':enabled')).click()


def test_a_part_of_a_change_is_taken_and_asked_about_again(world):
    session, page = asked(world, 'long.txt', REVISED)
    page.get_by_label('Lines 17 to 22', exact=True).uncheck()
    page.get_by_text('2 of 3 parts. You see what remains before it is done.').wait_for()
    first = page.locator('.review h2').text_content()
    act(page, 'Continue with 2 of 3')
    page.locator('.review').get_by_text('The same question without what you left out').wait_for()
    assert page.locator('.review h2').text_content() == first
    assert world.read('long.txt') == LONG
    world.model.reply('Two of three.')
    act(page, 'Approve all')
    page.get_by_text('Nothing waits for you').wait_for()
    world.wait_for_state(session, 'idle')
    assert world.read('long.txt') == REVISED.replace('line 19\n', 'line 19\nline 20\n')


def test_hunks_are_gone_through_and_left_out_by_keys(world):
    session, page = asked(world, 'long.txt', REVISED)
    page.locator('.review-body').focus()
    focused = 'document.activeElement.getAttribute("aria-label")'
    page.keyboard.press('j')
    assert page.evaluate(focused) == 'Lines 1 to 6 of long.txt'
    page.keyboard.press('ArrowDown')
    page.keyboard.press('j')
    page.keyboard.press('k')
    assert page.evaluate(focused) == 'Lines 17 to 22 of long.txt'
    page.keyboard.press(' ')
    page.get_by_text('2 of 3 parts').wait_for()
    page.keyboard.press(' ')
    page.get_by_text('3 of 3 parts').wait_for()
    # The same keys are letters in a field.
    page.keyboard.press('c')
    field = page.get_by_label('Comment on removed line 20')
    field.and_(page.locator(':focus')).wait_for()
    page.keyboard.type('j k c')
    page.keyboard.press('Control+Enter')
    page.get_by_text('You, removed line 20').wait_for()
    world.until(page, f'{focused} === "Comment on removed line 20"')
    page.keyboard.press('ArrowDown')
    world.until(page, f'{focused} === "Comment on line 20"')
    page.keyboard.press('Enter')
    page.get_by_label('Comment on line 20').and_(page.locator('textarea:focus')).wait_for()
    page.keyboard.press('Escape')
    assert page.locator('.panel').is_visible(), 'Escape closed more than the comment'
    assert world.api('/approvals')['questions'], 'a key answered'
    world.answer(session)


def test_comments_on_lines_are_sent_as_one_review(world):
    session, page = asked(world, 'long.txt', REVISED)
    page.get_by_role('button', name='Comment on line 3', exact=True).click()
    page.get_by_label('Comment on line 3').and_(page.locator('textarea')).fill('Digits, please')
    page.get_by_role('button', name='Add comment').click()
    page.get_by_role('button', name='Comment on removed line 20').click()
    page.get_by_label('Comment on removed line 20').and_(page.locator('textarea')).fill('Keep it')
    page.get_by_role('button', name='Add comment').click()
    page.get_by_text('3 of 3 parts, 2 comments').wait_for()
    world.shot(page, 'review-comments')
    act(page, 'Deny…')
    page.get_by_label('Why not?').fill('Not like this.')
    world.model.reply('Otherwise, then.')
    act(page, 'Deny with 2 comments')
    world.wait_for_state(session, 'idle')
    told = str(world.model.requests[-1]['messages'][-1])
    for words in ['Not like this.', 'long.txt:3: Digits, please', 'long.txt:20: (on the removed line 20, \\"line 20\\") Keep it']:
        assert words in told or words.replace('\\"', '"') in told, told
    assert world.read('long.txt') == LONG


def test_a_file_is_edited_in_place_and_keeps_its_line_ends(world):
    session, page = asked(world, 'dos.txt', 'one\r\nthree\r\n')
    page.get_by_role('button', name='Edit', exact=True).click()
    field = page.get_by_label('Text of dos.txt')
    assert field.input_value() == 'one\nthree\n'
    field.fill('one\nfour\n')
    act(page, 'Continue with your text')
    page.locator('.review').get_by_text('The same question with your text').wait_for()
    page.locator('.review .add').get_by_text('four').wait_for()
    world.model.reply('As you wrote it.')
    act(page, 'Approve')
    world.wait_for_state(session, 'idle')
    assert (world.project / 'dos.txt').read_bytes() == b'one\r\nfour\r\n'


def test_the_exact_rule_is_shown_before_it_is_kept(world):
    session, page = asked(world, 'README.md', '# Demo\n\nBye.\n')
    page.locator('.review-answer').get_by_role('button', name='Always…').and_(page.locator(':enabled')).click()
    rule = world.api('/approvals')['questions'][0]['always']
    assert page.locator('.review-answer q').text_content() == rule
    world.model.reply('For good.')
    act(page, 'In this project, for good')
    world.wait_for_state(session, 'idle')
    assert world.read('README.md') == '# Demo\n\nBye.\n'
    assert any('README.md' in kept['text'] for kept in world.api('/policy')['rules'])


def test_the_first_of_two_windows_counts_and_the_other_says_so(world):
    session, page = asked(world, 'README.md', '# Demo\n\nBye.\n')
    other = world.page(f'#/session/{session}')
    question = world.ready_question(other)
    world.model.reply('Done.')
    act(page, 'Approve')
    other.get_by_text('Write README.md: answered in another window: approved').wait_for()
    question.wait_for(state='detached')
    world.wait_for_state(session, 'idle')


def without_news(world, page):
    """A page that shows what it has and hears of nothing else, as on a train."""
    world.allow_lost_connections()
    world.allow('status of 409')
    page.route('**/api/events*', lambda route: route.abort())
    page.reload()
    page.locator('.review .diff').first.wait_for()


def test_an_answer_that_comes_too_late_is_told_kindly(world):
    session, page = asked(world, 'README.md', '# Demo\n\nBye.\n')
    without_news(world, page)
    world.model.reply('No, then.')
    world.answer(session, approve=False)
    world.wait_for_state(session, 'idle')
    act(page, 'Approve')
    page.get_by_text('It was answered in another window first. Your answer was not used.').wait_for()
    assert 'hello' in world.read('README.md')


def test_a_click_lands_only_on_the_proposal_that_was_shown(world):
    session, page = asked(world, 'long.txt', REVISED)
    without_news(world, page)
    old = world.wait_for_question(session)
    world.answer(session, hunks={'long.txt': [0]})
    new = next(data for event, data in world.events() if event == 'questions' and data['questions']
               and data['questions'][0]['question'] != old['question'])
    assert new['questions'][0]['call_id'] == old['call_id']
    act(page, 'Approve all')
    page.get_by_text('The proposal has changed meanwhile. Your answer was not used: this is the new one.').wait_for()
    assert world.read('long.txt') == LONG
    page.locator('.review').get_by_text('Revised in another window').wait_for()
    world.model.reply('One of three.')
    act(page, 'Approve')
    world.wait_for_state(session, 'idle')
    assert world.read('long.txt') == LONG.replace('line 3\n', 'line three\n')


def test_questions_of_sessions_and_of_calls_by_hand_are_answered_in_the_inbox(world):
    session, page = asked(world, 'README.md', '# Demo\n\nBye.\n')
    by_hand(world, 'write_file', path='new.txt', content='by hand\n')
    page.get_by_text('1 of 2').first.wait_for()
    page.locator('.review').get_by_role('button', name='Next question').click()
    page.locator('.review h2').get_by_text('Write new.txt').wait_for()
    page.goto(f'{world.url}/#/inbox')
    page.get_by_text('2 questions wait').last.wait_for()
    page.get_by_role('heading', name='Calls by hand').wait_for()
    page.get_by_role('article', name='Write new.txt').get_by_role('link', name='Review').click()
    page.locator('.review .add').get_by_text('by hand').wait_for()
    act(page, 'Approve')
    page.get_by_text('1 question waits').last.wait_for()
    world.model.reply('Both.')
    card = page.get_by_role('article', name='Write README.md')
    card.get_by_role('button', name='Approve').and_(page.locator(':enabled')).click()
    page.get_by_role('heading', name='No questions').wait_for()
    world.wait_for_state(session, 'idle')
    assert (world.read('new.txt'), world.read('README.md')) == ('by hand\n', '# Demo\n\nBye.\n')


def test_everything_that_happens_to_files_is_told_in_words(world):
    script = ('rm README.md; chmod +x src/main.rs; mkdir d; printf "a\\0b" > d/bin; ln -s long.txt link; printf "no end" > end.txt; '
              'printf "one\\ntwo\\n" > dos.txt')
    by_hand(world, 'bash', command=script)
    page = world.page('#/inbox')
    page.get_by_role('link', name='Review').click()
    page.locator('.review .diff').first.wait_for()
    for path, words in [('README.md', 'deleted'), ('src/main.rs', 'mode changes from 644 to 755'), ('d', 'new directory'),
                        ('d/bin', 'not shown as text, 3 bytes'), ('link', 'symbolic link'), ('end.txt', 'No line end at the end of the file'),
                        ('dos.txt', 'line endings change from CRLF to LF')]:
        file = page.locator(f'.file[data-path="{path}"]')
        file.scroll_into_view_if_needed()
        file.get_by_text(words).wait_for()
    world.shot(page, 'review-kinds')


def test_a_command_is_shown_as_it_would_run(world):
    world.write('more.txt', 'more\n')
    world.git('config', 'user.name', 'Ada')
    world.git('config', 'user.email', 'ada@example.org')
    by_hand(world, 'git_commit', message='Add more\u202e', paths=['more.txt'])
    page = world.page('#/inbox')
    page.get_by_role('link', name='Review').click()
    effect = page.locator('.effect')
    effect.get_by_text('\\u{202E}').first.wait_for()
    effect.get_by_text('The programs that are run').click()
    effect.locator('details').get_by_text('git').first.wait_for()
    assert effect.locator('dl').inner_text().split('\n')[:2] == ['Where', 'In the directory of the project']
    page.get_by_text('needs approval').wait_for()


def test_hostile_text_is_text(world):
    hostile = '<img src=x onerror=pwned=1> <script>pwned=1</script> \u202egpj.exe \x1b[31m \u200b'
    by_hand(world, 'write_file', path='<b>odd\u202ename.txt', content=f'{hostile}\nplain \t \n')
    page = world.page('#/inbox')
    page.get_by_role('link', name='Review').click()
    line = page.locator('.review td.source').first
    line.wait_for()
    assert line.text_content() == '<img src=x onerror=pwned=1> <script>pwned=1</script> \\u{202E}gpj.exe \\x1B[31m \\u{200B}'
    assert page.locator('.review .s-hidden').all_text_contents()[:3] == ['\\u{202E}', '\\x1B', '\\u{200B}']
    page.locator('.review .s-trailing_space').wait_for()
    assert page.locator('.review .file-name').text_content() == '<b>odd\\u{202E}name.txt'
    assert '\u202e' not in page.locator('main').inner_text()
    assert page.evaluate('typeof pwned') == 'undefined'
    page.get_by_role('button', name='Edit', exact=True).click()
    page.get_by_text('Characters that cannot be seen: line 1 (U+202E, U+001B, U+200B)').wait_for()


def test_thousands_of_lines_are_drawn_only_where_they_are_seen(world):
    old = ''.join(f'let value_{number} = old({number});\n' for number in range(5_000))
    world.write('big.js', old)
    world.api('/tools/read_file', {'arguments': {'path': 'big.js', 'limit': 5_000}})
    by_hand(world, 'write_file', path='big.js', content=old.replace('old', 'new'))
    page = world.page('#/inbox')
    page.get_by_role('link', name='Review').click()
    page.locator('.review .diff').first.wait_for()
    assert page.locator('.review tr').count() < 500
    page.locator('.review-body').evaluate('(body) => { body.scrollTop = body.scrollHeight; }')
    last = page.locator('.review tr').get_by_text('let value_4999 = new(4999);')
    last.wait_for()
    marked = last.locator('mark').all_text_contents()
    assert len(marked) == 1 and marked[0].startswith('new'), marked
    assert page.locator('.review tr').count() < 500


def test_a_phone_reviews_comments_and_approves(world):
    session, page = asked(world, 'long.txt', REVISED, page=None)
    page.set_viewport_size({'width': 390, 'height': 844})
    phone = world.phone(f'#/session/{session}')
    world.ready_question(phone).get_by_role('button', name='Review').tap()
    phone.locator('.review .diff').first.wait_for()
    phone.locator('.review td.source').get_by_text('line three').tap()
    phone.get_by_label('Comment on line 3').and_(phone.locator('textarea')).fill('By thumb')
    phone.get_by_role('button', name='Add comment').tap()
    world.shot(phone, 'review-phone')
    for wanted in [page, phone]:
        assert wanted.evaluate('document.documentElement.scrollWidth') <= 390
    small = phone.locator('.review').evaluate('''(review) => [...review.querySelectorAll('button, label, a')].filter((control) =>
      !control.dataset.key && control.checkVisibility() && control.getBoundingClientRect().height < 43.5).map((control) => control.outerHTML)''')
    assert not small, small
    world.model.reply('With a comment.')
    phone.locator('.review-answer').get_by_role('button', name='Approve with 1 comment').and_(phone.locator(':enabled')).tap()
    phone.get_by_text('Nothing waits for you').wait_for()
    world.wait_for_state(session, 'idle')
    assert 'By thumb' in str(world.model.requests[-1]['messages'][-1])
    assert world.read('long.txt') == REVISED


def test_the_history_undoes_and_redoes_after_a_question(world):
    session, page = asked(world, 'README.md', '# Demo\n\nBye.\n')
    world.model.reply('Done.')
    act(page, 'Approve')
    world.wait_for_state(session, 'idle')
    page.goto(f'{world.url}/#/session/{session}/history')
    page.locator('.history').get_by_text('README.md').first.wait_for()
    for button, told, text in [('Undo the last change', 'Undid', 'hello'), ('Redo', 'Redid', 'Bye')]:
        page.get_by_role('button', name=button).click()
        world.ready_question(page).get_by_role('button', name='Approve').click()
        page.get_by_text(re.compile(f'^{told}')).wait_for()
        assert text in world.read('README.md')
    page.locator('.history').get_by_role('button', name='Open line 3', exact=True).click()
    page.wait_for_url('**/files?path=README.md&line=3')


def test_each_change_is_undone_and_redone_by_itself(world):
    page = world.page()
    for path in ('one.txt', 'two.txt'):
        world.model.reply('I write.', call('write_file', path=path, content=f'{path}\n'))
        world.model.reply('Done.')
        if path == 'one.txt':
            session = world.begin(page, 'Write one')
        else:
            world.say(page, 'Write two')
        world.ready_question(page).get_by_role('button', name='Approve').click()
        world.wait_for_state(session, 'idle')
    page.goto(f'{world.url}/#/session/{session}/history')
    page.get_by_role('button', name='One by one').click()
    for button, is_there in [('Undo one.txt', False), ('Undo two.txt', False), ('Redo one.txt', True)]:
        page.get_by_role('button', name=button).click()
        world.ready_question(page).get_by_role('button', name='Approve').click()
        other = button.replace('Undo', 'Redo') if 'Undo' in button else button.replace('Redo', 'Undo')
        page.get_by_role('button', name=other).wait_for()
        assert (world.project / button.split()[1]).exists() is is_there
    assert not (world.project / 'two.txt').exists()
    page.locator('.undone').get_by_text('two.txt').wait_for()
    world.shot(page, 'history-undone')
    page.set_viewport_size(PHONE)
    assert page.evaluate('document.documentElement.scrollWidth') <= PHONE['width']
    world.shot(page, 'history-undone-phone')


def test_lines_are_compared_word_by_word(world):
    page = world.page()
    table = [
        ['let a = old(1);', 'let a = new(1);', ['old'], ['new']],
        ['return sum;', 'return round(sum);', [], ['round(', ')']],
        ['one two three', 'one 2 3 three', ['two'], ['2 3']],
        ['nothing in common', 'let x = 1;', [], []],
        ['größe = 1', 'größe = 2', ['1'], ['2']],
    ]
    for old, new, gone, come in table:
        found = page.evaluate('''([old, fresh]) => import('/diff_lines.js').then(({ changedWords }) => {
          const [left, right] = changedWords(old, fresh);
          return [left.map(([from, to]) => old.slice(from, to)), right.map(([from, to]) => fresh.slice(from, to))];
        })''', [old, new])
        assert found == [gone, come], (old, new, found)
    marks = page.evaluate('''() => import('/diff_lines.js').then(({ pieces }) => pieces({ line: {
      kind: 'add', text: 'ü\\\\u{202E}x', marks: [{ start: 2, end: 10, kind: 'escape' }] } }).map(({ text, kind }) => [text, kind ?? null]))''')
    assert marks == [['ü', None], ['\\u{202E}', 'hidden'], ['x', None]]
    drawn = page.evaluate('''() => import('/diff_lines.js').then(({ rawLine }) => rawLine('a\\u202eb ❤\\ufe0f 👩\\u200d💻 \\u200d').text)''')
    assert drawn == 'a\\u{202E}b ❤\ufe0f 👩\u200d💻 \\u{200D}', drawn
