"""A whole task by keyboard alone."""

from model import call

CHANGED = 'fn main() {\n    println!("goodbye");\n}\n'
# More than any way through the page takes.
MOST_STEPS = 60


def go_to(page, name):
    """Presses Tab until the control whose name begins so has the focus, which must then be visible."""
    for _ in range(MOST_STEPS):
        focused = page.evaluate('''() => {
          const { activeElement: at } = document;
          const name = at.getAttribute('aria-label') ?? (at.labels?.[0] ?? at).textContent.trim();
          const style = getComputedStyle(at);
          const isVisible = style.outlineStyle !== 'none' || style.boxShadow !== 'none';
          return { name, isVisible: isVisible || at.tagName === 'TEXTAREA' || at.tagName === 'INPUT' };
        }''')
        if focused['name'].startswith(name):
            assert focused['isVisible'], f'the focus on {name} cannot be seen'
            return
        page.keyboard.press('Tab')
    raise AssertionError(f'Tab never comes to {name}')


def test_from_a_message_to_an_approved_change(world):
    world.model.reply('I write it.', call('write_file', path='src/main.rs', content=CHANGED))
    page = world.page()
    page.get_by_role('heading', name='What should be done?').wait_for()
    page.locator('textarea:focus').wait_for()
    page.keyboard.type('Say goodbye')
    page.keyboard.press('Enter')
    world.ready_question(page)
    page.locator('textarea:focus').wait_for()
    # What is typed into the field goes there and answers nothing.
    page.keyboard.type('yes y a 1')
    assert page.get_by_label('Message', exact=True).input_value() == 'yes y a 1'
    assert 'hello' in world.read('src/main.rs')
    world.model.reply('Done by keys.')
    page.keyboard.press('Shift+Tab')
    go_to(page, 'Approve')
    page.keyboard.press('Enter')
    world.log(page).get_by_text('Done by keys.').wait_for()
    assert world.read('src/main.rs') == CHANGED


def test_a_refusal_with_a_reason(world):
    world.model.reply('I write it.', call('write_file', path='src/main.rs', content=CHANGED))
    page = world.page()
    page.locator('textarea:focus').wait_for()
    page.keyboard.type('Say goodbye')
    page.keyboard.press('Enter')
    world.ready_question(page)
    go_to(page, 'Deny…')
    page.keyboard.press('Enter')
    page.get_by_label('Why not').wait_for()
    page.locator('textarea:focus').and_(page.get_by_label('Why not')).wait_for()
    page.keyboard.type('Greet in French')
    world.model.reply('In French, then.')
    # Keys in the field only write; the button answers.
    page.keyboard.press('Enter')
    page.get_by_role('button', name='Deny', exact=True).and_(page.locator(':enabled')).wait_for()
    go_to(page, 'Deny')
    page.keyboard.press('Enter')
    world.log(page).get_by_text('In French, then.').wait_for()
    assert 'hello' in world.read('src/main.rs')
    assert 'Greet in French' in str(world.model.requests[-1]['messages'][-1])


def test_panels_open_and_close_and_the_palette_is_a_key_away(world):
    world.model.reply('Hello.')
    page = world.page()
    page.locator('textarea:focus').wait_for()
    page.keyboard.type('Hi')
    page.keyboard.press('Enter')
    page.locator('.turn-end').wait_for()
    go_to(page, 'Files')
    page.keyboard.press('Enter')
    page.get_by_role('complementary', name='Files').wait_for()
    page.keyboard.press('Escape')
    page.get_by_role('complementary', name='Files').wait_for(state='detached')
    page.keyboard.press('Control+k')
    page.get_by_role('dialog').wait_for()
    page.keyboard.press('Escape')
    page.get_by_role('dialog').wait_for(state='detached')


def test_a_turn_is_stopped_with_escape(world):
    gate = world.model.gate()
    world.model.reply('I begin', gate, ' and never end.')
    page = world.page()
    session = world.begin(page, 'Count')
    world.log(page).get_by_text('I begin').wait_for()
    page.locator('textarea:focus').wait_for()
    page.keyboard.press('Escape')
    world.wait_for_state(session, 'interrupted', 'idle')
