"""The tool console, analytics and settings."""

import json

from harness import PHONE
from model import call
from test_axe import complaints

WIDTH = 'document.documentElement.scrollWidth'
TOOL = '''name = "greet"
description = "Greets. <b>\u202e</b>"
command = ["echo", "hello"]
'''


def open_tool(page, name):
    page.get_by_label('Filter the tools').fill(name)
    page.get_by_role('navigation', name='Tools').get_by_role('button', name=name).first.click()
    page.locator('.tool').get_by_role('heading', name=name).wait_for()


# ---- The console ----


def test_a_tool_is_run_from_its_form_and_its_answer_has_two_looks(world):
    page = world.page('#/start/console')
    open_tool(page, 'grep')
    page.get_by_label('pattern').fill('println')
    page.keyboard.press('Enter')
    value = page.get_by_role('group', name='Value of the answer')
    value.get_by_role('button', name='matches').wait_for()
    assert 'src/main.rs' in value.text_content()
    page.get_by_role('button', name='As the model sees it').click()
    page.get_by_label('Text of the answer').get_by_text('println!').wait_for()


def test_form_and_json_stay_in_step(world):
    page = world.page('#/start/console')
    open_tool(page, 'apply_changes')
    page.get_by_role('button', name='Add to changes').click()
    element = page.get_by_role('group', name='changes 1')
    element.get_by_label('path').fill('a.txt')
    element.get_by_label('line', exact=True).fill('3')
    element.get_by_label('delete').check()
    page.get_by_role('button', name='JSON').click()
    raw = page.get_by_label('Arguments', exact=True)
    assert json.loads(raw.input_value()) == {'changes': [{'path': 'a.txt', 'line': 3, 'delete': True}]}
    raw.fill('{"changes": [{"path": "b.txt"}], "patch": "x"')
    page.get_by_text('Not valid, so the arguments stay as they were').wait_for()
    raw.fill('{"changes": [{"path": "b.txt"}], "patch": "x"}')
    page.get_by_role('button', name='JSON').click()
    assert element.get_by_label('path').input_value() == 'b.txt'
    assert not element.get_by_label('delete').is_checked()
    assert page.get_by_label('patch').input_value() == 'x'
    page.get_by_role('button', name='Remove changes 1').click()
    page.get_by_role('button', name='JSON').click()
    assert json.loads(raw.input_value()) == {'patch': 'x'}


def test_enumerations_numbers_and_maps_have_fields(world):
    page = world.page('#/start/console')
    open_tool(page, 'run_code')
    page.get_by_label('language').select_option('bash')
    page.get_by_label('code').fill('echo $NAME')
    page.get_by_label('New name in env').fill('NAME')
    page.get_by_role('button', name='Add to env').click()
    page.get_by_label('NAME', exact=True).fill('kiln')
    page.get_by_role('button', name='JSON').click()
    given = json.loads(page.get_by_label('Arguments', exact=True).input_value())
    assert given == {'language': 'bash', 'code': 'echo $NAME', 'env': {'NAME': 'kiln'}}


def test_what_needs_approval_is_explained_asked_and_done(world):
    page = world.page('#/start/console')
    open_tool(page, 'create_file')
    page.get_by_label('path').fill('made.txt')
    page.get_by_label('content').fill('by hand\n')
    page.get_by_role('button', name='What would the policy say?').click()
    page.get_by_text('Would ask first').wait_for()
    page.get_by_role('button', name='Run', exact=True).click()
    asked = world.ready_question(page)
    assert not (world.project / 'made.txt').exists()
    # The call goes on while something else is looked at.
    page.get_by_role('button', name='Files', exact=True).click()
    page.get_by_role('treeitem', name='README.md').wait_for()
    page.get_by_role('button', name='Console', exact=True).click()
    world.ready_question(page)
    asked.get_by_role('button', name='Approve').click()
    page.get_by_role('region', name='Answer').wait_for()
    assert world.read('made.txt') == 'by hand\n'


def test_a_running_call_is_stopped(world):
    page = world.page('#/start/console')
    open_tool(page, 'create_file')
    page.get_by_role('button', name='Example').click()
    page.get_by_role('button', name='Run', exact=True).click()
    world.ready_question(page)
    page.get_by_role('button', name='Stop').click()
    page.get_by_text('Stopped').wait_for()
    # A question that no call waits for is gone.
    page.locator('.ask').wait_for(state='detached')


def test_an_error_has_its_code_and_what_can_be_done(world):
    page = world.page('#/start/console')
    open_tool(page, 'read_file')
    page.get_by_label('path').fill('nope <b>.rs')
    page.keyboard.press('Enter')
    failure = page.get_by_role('alert')
    failure.get_by_text('FILE_NOT_FOUND').wait_for()
    assert 'nope <b>.rs does not exist' in failure.text_content()
    assert 'List the directory' in failure.text_content()


# ---- Analytics ----


def test_before_anything_was_done_analytics_says_what_would_be_here(world):
    page = world.page('#/analytics')
    page.get_by_role('heading', name='Nothing in these 30 days').wait_for()


def test_calls_and_tokens_are_drawn_with_their_numbers(world):
    world.model.reply('I look.', call('read_file', path='src/main.rs'), call('read_file', path='nope.rs'))
    world.model.reply('Done.')
    session = world.api('/sessions', {})['id']
    world.api(f'/sessions/{session}/messages', {'text': 'Look <b>here</b>'})
    world.model.wait_for_requests(2)
    world.wait_for_state(session, 'idle')
    page = world.page('#/analytics')
    row = page.get_by_role('region', name='Tools', exact=True).get_by_role('row', name='read_file')
    row.wait_for()
    assert '2, 1 failed' in row.text_content()
    page.get_by_text('All numbers').click()
    page.get_by_text('FILE_NOT_FOUND 1').wait_for()
    page.get_by_role('link', name='Look <b>here</b>').last.wait_for()
    page.get_by_role('button', name='7 days').click()
    page.locator('button[aria-pressed=true]').get_by_text('7 days').wait_for()
    world.shot(page, 'analytics')
    page.reload()
    page.locator('button[aria-pressed=true]').get_by_text('7 days').wait_for()


def test_charts_by_day_are_of_everything_or_of_one_tool(world):
    world.model.reply('I look.', call('read_file', path='src/main.rs'), call('grep', pattern='hello'))
    world.model.reply('Done.')
    session = world.api('/sessions', {})['id']
    world.api(f'/sessions/{session}/messages', {'text': 'Look'})
    world.model.wait_for_requests(2)
    world.wait_for_state(session, 'idle')
    page = world.page('#/analytics')
    calls = page.locator('.chart').filter(has=page.get_by_role('heading', name='Calls', exact=True))
    calls.locator('.chart-total').get_by_text('2', exact=True).wait_for()
    page.get_by_label('Charts of').select_option(label='grep')
    calls.locator('.chart-total').get_by_text('1', exact=True).wait_for()
    calls.get_by_text('Table').click()
    assert calls.get_by_role('row').count() == 2, 'a heading and today'


# ---- Settings ----


def test_a_custom_tool_is_trusted_by_its_exact_text(world):
    world.write('.toolkiln/tools/greet.toml', TOOL)
    page = world.page('#/settings')
    page.get_by_label('Text of .toolkiln/tools/greet.toml').get_by_text('<b>U+202E</b>').wait_for()
    # What was written since it was read is not what the user has seen.
    world.write('.toolkiln/tools/greet.toml', TOOL.replace('echo', 'rm'))
    world.allow('status of 4')
    page.get_by_role('button', name='Trust exactly this text').click()
    page.locator('.message-line .error').wait_for()
    assert not world.api('/custom-tools')['tools'][0]['trusted']
    page.reload()
    page.get_by_label('Text of .toolkiln/tools/greet.toml').get_by_text('rm').wait_for()
    page.get_by_role('button', name='Trust exactly this text').click()
    page.get_by_text('greet.toml, trusted').wait_for()
    assert world.api('/custom-tools')['tools'][0]['trusted']


def test_the_theme_is_chosen_by_keys_and_kept(world):
    page = world.page('#/settings')
    page.get_by_label('As the system').focus()
    page.keyboard.press('ArrowRight')
    page.keyboard.press('ArrowRight')
    page.wait_for_function("document.documentElement.dataset.theme === 'dark'")
    page.reload()
    page.wait_for_function("document.documentElement.dataset.theme === 'dark'")
    page.get_by_label('As the system').check()
    page.wait_for_function("!('theme' in document.documentElement.dataset)")


def test_a_remembered_rule_is_listed_and_forgotten(world):
    page = world.page('#/start/console')
    open_tool(page, 'create_file')
    page.get_by_role('button', name='Example').click()
    page.get_by_role('button', name='Run', exact=True).click()
    asked = world.ready_question(page)
    asked.get_by_text('Always…').click()
    asked.get_by_role('button', name='In this project, for good').click()
    page.get_by_role('region', name='Answer').wait_for()
    page.goto(f'{world.url}/#/settings')
    page.get_by_text('From a remembered answer').wait_for()
    page.get_by_label('Tool', exact=True).select_option('bash')
    page.get_by_role('button', name='Explain').click()
    page.locator('.verdict').get_by_text('Would run without a question').wait_for()
    page.get_by_role('button', name='Forget…').click()
    page.get_by_role('button', name='Forget it').click()
    page.get_by_text('There are no rules').wait_for()
    assert world.api('/policy')['rules'] == []


def test_logging_out_ends_the_login_of_this_browser(world):
    world.allow('status of 401')
    page = world.page('#/settings')
    page.get_by_role('button', name='Log out').click()
    page.get_by_label('Token').wait_for()
    page.reload()
    page.get_by_label('Token').wait_for()


# ---- All of them ----


def test_nothing_scrolls_sideways_on_a_phone(world):
    page = world.phone('#/settings')
    page.get_by_role('heading', name='Policy').wait_for()
    assert page.evaluate(WIDTH) <= PHONE['width']
    page.goto(f'{world.url}/#/start/console')
    open_tool(page, 'apply_changes')
    page.get_by_role('button', name='Add to changes').click()
    assert page.evaluate(WIDTH) <= PHONE['width']
    world.shot(page, 'console-phone')


def test_axe_finds_nothing_in_a_form_its_question_and_its_answer(world):
    found = []
    for dark in (False, True):
        page = world.page('#/start/console', dark=dark, bypass_csp=True)
        open_tool(page, 'apply_changes')
        page.get_by_role('button', name='Add to changes').click()
        found += complaints(page, f'form, dark {dark}')
        page.goto(f'{world.url}/#/start/files')
        page.goto(f'{world.url}/#/start/console')
        page.get_by_role('button', name='All tools').click()
        open_tool(page, 'create_file')
        page.get_by_role('button', name='Example').click()
        page.get_by_role('button', name='Run', exact=True).click()
        asked = world.ready_question(page)
        found += complaints(page, f'question, dark {dark}')
        asked.get_by_role('button', name='Deny…').click()
        page.get_by_label('Why not').fill('no')
        page.get_by_role('button', name='Deny', exact=True).click()
        page.get_by_role('region', name='Answer').wait_for()
        found += complaints(page, f'answer, dark {dark}')
    assert not found, '\n'.join(found)
