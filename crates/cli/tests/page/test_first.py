"""From the link in the terminal to a file that was written."""

from model import call

CHANGED = 'fn main() {\n    println!("goodbye");\n}\n'


def test_a_message_is_answered_and_its_change_is_made_after_a_click(world):
    look = world.model.gate()
    world.model.reply('I will look', look, ' at it first.', call('write_file', path='src/main.rs', content=CHANGED))
    page = world.page(world.link.split('/', 3)[3], log_in=False)
    page.get_by_role('heading', name='What should be done?').wait_for()
    assert 'code' not in page.url, 'the code stays in the address'

    world.begin(page, 'Say goodbye instead')
    world.log(page).get_by_text('I will look', exact=True).wait_for()
    look.open()
    world.log(page).get_by_text('I will look at it first.').wait_for()
    approve = page.get_by_role('button', name='Approve')
    approve.wait_for()
    assert page.evaluate('document.activeElement.tagName') == 'TEXTAREA', 'the question took the focus'
    # It has not been read yet: a click that was meant for something else does nothing.
    if approve.is_disabled():
        approve.click(force=True)
        assert 'hello' in world.read('src/main.rs')
    world.ready_question(page)
    world.shot(page, 'question')
    assert 'hello' in world.read('src/main.rs')

    world.model.reply('It says goodbye.')
    approve.click()
    world.log(page).get_by_text('It says goodbye.').wait_for()
    assert world.read('src/main.rs') == CHANGED
    page.locator('.turn-end').wait_for()
    before = world.log(page).text_content()
    page.reload()
    page.locator('.turn-end').wait_for()
    after = world.log(page).text_content()
    assert after == before, f'{before!r} became {after!r}'
    world.shot(page, 'first')


def test_a_code_is_good_once(world):
    world.allow('status of 401')
    fragment = world.link.split('/', 3)[3]
    world.page(fragment, log_in=False).get_by_role('heading', name='What should be done?').wait_for()
    page = world.page(fragment, log_in=False)
    page.get_by_label('Token').fill(world.tokens['all'])
    page.get_by_role('button', name='Log in').click()
    page.get_by_role('heading', name='What should be done?').wait_for()


def test_the_whole_link_can_be_pasted(world):
    world.allow('status of 401')
    page = world.phone(log_in=False)
    page.get_by_label('Token').fill(world.link)
    assert page.evaluate('document.documentElement.scrollWidth') <= 390
    world.shot(page, 'login-phone')
    page.get_by_role('button', name='Log in').click()
    page.get_by_role('heading', name='What should be done?').wait_for()
