"""Files, what depends on them, and the one field over everything."""

import re

from harness import PHONE
from test_axe import complaints

HOSTILE = '<script>alert(1)</script>\n<img src=x onerror=alert(1)>\n\u202eevil\u202c zero\u200bwidth \x1b[31mred\n'
LONG = ''.join(f'pub fn number_{at}() -> u32 {{\n    {at} + helper()\n}}\n' for at in range(3500)) + 'fn helper() -> u32 { 1 }\n'
FILES = {
    'src/main.rs': 'mod kiln;\nuse kiln::fire;\n\nfn main() {\n    fire();\n}\n',
    'src/kiln.rs': 'pub fn fire() {\n    println!("hot");\n}\n\npub struct Kiln;\n\nimpl Kiln {\n    pub fn heat(&self) {}\n}\n',
    'src/one.rs': 'pub fn twin() {}\n',
    'src/two.rs': 'pub fn twin() {}\n\npub fn both() {\n    twin();\n}\n',
    'long.rs': LONG,
    'odd <b>&.txt': HOSTILE,
    **{f'many/{at:03}.txt': f'{at}\n' for at in range(130)},
}


def open_file(page, path, line=None):
    page.evaluate('([path, line]) => { location.hash = `#/start/files?path=${encodeURIComponent(path)}${line ? `&line=${line}` : ""}`; }', [path, line])
    page.locator(f'.source-line[data-line="{line or 1}"] [data-from]').first.wait_for()


def word(page, line, text):
    """The middle of a word of a line, to be clicked."""
    return page.evaluate('''([line, text]) => {
      const code = document.querySelector(`.source-line[data-line="${line}"] code`);
      const walk = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
      for (let node = walk.nextNode(); node; node = walk.nextNode()) {
        const at = node.data.indexOf(text);
        if (at < 0) continue;
        const range = document.createRange();
        range.setStart(node, at);
        range.setEnd(node, at + text.length);
        const { x, y, width, height } = range.getBoundingClientRect();
        return [x + width / 2, y + height / 2];
      }
      throw new Error(`line ${line} has no ${text}`);
    }''', [line, text])


def click_word(page, line, text, **keys):
    if keys:
        page.keyboard.down('Control')
    page.mouse.click(*word(page, line, text))
    if keys:
        page.keyboard.up('Control')


def test_a_file_is_opened_in_the_tree_by_keys_alone(world):
    page = world.page('#/start/files')
    page.get_by_role('treeitem', name='src').focus()
    page.keyboard.press('ArrowRight')
    page.get_by_role('treeitem', name='kiln.rs').wait_for()
    page.keyboard.press('ArrowDown')
    page.keyboard.press('Enter')
    page.get_by_role('heading', name='src/kiln.rs').wait_for()
    page.get_by_text('println!("hot");').wait_for()
    assert '9 lines' in page.locator('.source-head').text_content()


def test_a_large_directory_comes_a_page_at_a_time(world):
    page = world.page('#/start/files')
    page.get_by_role('treeitem', name='many').click()
    page.get_by_role('treeitem', name='Show more (30 left)').click()
    page.get_by_role('treeitem', name='129.txt').wait_for()
    assert page.get_by_role('treeitem', name='Show more').count() == 0


def test_of_a_long_file_only_what_is_seen_is_drawn(world):
    page = world.page()
    open_file(page, 'long.rs', 9_000)
    page.get_by_text('pub fn number_2999()').wait_for()
    assert page.locator('.source-line').count() < 250
    page.locator('.source-lines').focus()
    page.keyboard.press('End')
    page.get_by_text('fn helper() -> u32').wait_for()
    page.keyboard.press('Home')
    page.get_by_text('pub fn number_0()').wait_for()


def test_a_click_with_control_goes_to_the_definition_and_back(world):
    page = world.page()
    open_file(page, 'src/main.rs')
    click_word(page, 5, 'fire', control=True)
    page.get_by_role('heading', name='src/kiln.rs').wait_for()
    page.locator('.source-line[data-here]').get_by_text('pub fn').wait_for()
    page.get_by_role('button', name='Back').click()
    page.get_by_role('heading', name='src/main.rs').wait_for()
    page.get_by_role('button', name='Forward').click()
    page.get_by_role('heading', name='src/kiln.rs').wait_for()


def test_a_word_is_chosen_by_keys_and_several_definitions_are_a_list(world):
    page = world.page()
    open_file(page, 'src/two.rs', 4)
    page.locator('.source-lines').focus()
    page.keyboard.press('ArrowRight')
    page.locator('.word-bar').get_by_text('twin').wait_for()
    page.keyboard.press('Enter')
    found = page.get_by_role('region', name='2 definitions of twin')
    found.wait_for()
    page.locator('.found li button:focus').wait_for()
    assert found.get_by_role('button', name='src/').count() == 2
    page.keyboard.press('Enter')
    page.get_by_role('heading', name='src/one.rs').wait_for()


def test_the_outline_jumps_and_uses_are_listed(world):
    page = world.page()
    open_file(page, 'src/kiln.rs')
    page.get_by_role('button', name='Outline').click()
    page.get_by_role('navigation', name='Outline').get_by_role('button', name='heat').click()
    page.locator('.source-line[data-here][data-line="8"]').wait_for()
    click_word(page, 1, 'fire')
    page.get_by_role('button', name='Uses').click()
    page.locator('.found').get_by_text('src/main.rs:5').wait_for()


def test_hostile_text_is_text_and_hidden_characters_are_named(world):
    page = world.page()
    open_file(page, 'odd <b>&.txt')
    page.get_by_role('heading', name='odd <b>&.txt').wait_for()
    text = page.locator('.source-line').all_text_contents()
    assert '<script>alert(1)</script>' in text[0]
    assert 'U+202EevilU+202C zeroU+200Bwidth U+001B[31mred' in text[2]
    assert page.locator('.panel img, .panel script').count() == 0


def test_a_file_is_attached_to_the_message(world):
    page = world.page()
    page.get_by_label('Message', exact=True).fill('Look at')
    open_file(page, 'odd <b>&.txt')
    page.get_by_role('button', name='Attach', exact=True).click()
    page.wait_for_function("document.querySelector('textarea').value === 'Look at @\"odd <b>&.txt\" '")


def test_a_file_that_is_gone_is_told(world):
    world.allow('status of 404')
    page = world.page('#/start/files?path=nope.rs')
    page.get_by_text('nope.rs does not exist').wait_for()


def test_impact_is_a_graph_to_walk_through_and_a_table(world):
    page = world.page('#/start/files?impact=src%2Fkiln.rs')
    node = page.get_by_role('button', name='main.rs', exact=False).first
    node.wait_for()
    root = page.locator('.node[data-root]')
    root.focus()
    page.keyboard.press('ArrowRight')
    page.locator('.node[aria-pressed=true]').get_by_text('main.rs').wait_for()
    page.keyboard.press('Enter')
    page.locator('.node[aria-expanded=true]').get_by_text('main.rs').wait_for()
    before = page.locator('.graph svg').get_attribute('viewBox')
    page.keyboard.press('+')
    page.wait_for_function("(before) => document.querySelector('.graph svg').getAttribute('viewBox') !== before", arg=before)
    row = page.get_by_role('row', name='src/main.rs')
    assert 'kiln' in row.first.text_content()
    row.first.get_by_role('button').click()
    page.get_by_role('heading', name='src/main.rs').wait_for()


def test_impact_of_a_name_begins_at_its_uses(world):
    page = world.page('#/start/files?impact=fire')
    page.get_by_role('button', name=re.compile('^main.rs')).first.wait_for()
    page.get_by_role('button', name='Show in the file').click()
    page.get_by_role('heading', name='src/kiln.rs').wait_for()


def test_the_palette_finds_files_symbols_text_and_commands(world):
    page = world.page()
    page.get_by_role('heading', name='What should be done?').wait_for()
    page.keyboard.press('Control+k')
    field = page.get_by_role('combobox', name='Search everything')
    field.wait_for()
    page.get_by_role('group', name='Commands').wait_for()
    field.fill('kiln')
    page.get_by_role('group', name='Files').get_by_role('option', name='kiln.rs').wait_for()
    page.get_by_role('group', name='Text').get_by_text('mod kiln;').wait_for()
    field.fill('heat')
    symbol = page.get_by_role('group', name='Symbols').get_by_role('option').first
    symbol.wait_for()
    page.locator('[role=option][aria-selected=true]').get_by_text('heat').wait_for()
    page.keyboard.press('Enter')
    page.locator('.source-line[data-here][data-line="8"]').wait_for()
    assert page.get_by_role('dialog').count() == 0
    page.keyboard.press('Control+k')
    field.fill('dark theme')
    page.keyboard.press('Enter')
    page.wait_for_function("document.documentElement.dataset.theme === 'dark'")
    page.keyboard.press('Control+k')
    page.get_by_role('group', name='Latest files').get_by_role('option', name='kiln.rs').wait_for()


def test_the_palette_finds_symbols_by_letters_in_their_order(world):
    page = world.page()
    page.get_by_role('heading', name='What should be done?').wait_for()
    page.keyboard.press('Control+k')
    field = page.get_by_role('combobox', name='Search everything')
    field.fill('nmb34')
    symbols = page.get_by_role('group', name='Symbols')
    symbols.get_by_role('option', name='number_34 function · long.rs:103').wait_for()
    # The best is the first, and letters that no name holds find none.
    assert symbols.get_by_role('option').first.text_content().startswith('number_34')
    world.shot(page, 'palette-letters')
    field.fill('nmbzz')
    symbols.wait_for(state='detached')


def test_the_palette_finds_what_was_said_in_a_session(world):
    world.model.reply('The glaze needs cobalt.')
    session = world.api('/sessions', {'title': 'Colours'})['id']
    world.api(f'/sessions/{session}/messages', {'text': 'Which glaze?'})
    world.model.wait_for_requests(1)
    world.wait_for_state(session, 'idle')
    page = world.page()
    page.keyboard.press('Control+k')
    page.get_by_role('combobox', name='Search everything').fill('cobalt')
    page.get_by_role('group', name='Sessions').get_by_role('option', name='cobalt').wait_for()
    page.keyboard.press('Enter')
    page.wait_for_url(re.compile(f'#/session/{session}'))


def test_the_palette_goes_with_escape_and_gives_the_focus_back(world):
    page = world.page()
    page.locator('textarea:focus').wait_for()
    page.keyboard.press('Control+k')
    page.get_by_role('combobox', name='Search everything').fill('<img src=x>')
    page.get_by_role('group', name='Text').get_by_text('<img src=x onerror').wait_for(state='detached')
    page.keyboard.press('Escape')
    page.locator('textarea:focus').wait_for()
    assert page.get_by_role('dialog').count() == 0


def test_nothing_scrolls_sideways_on_a_phone(world):
    page = world.phone('#/start/files')
    page.get_by_role('treeitem', name='src').click()
    page.get_by_role('treeitem', name='kiln.rs').click()
    page.locator('.source-line [data-from]').first.wait_for()
    wide = 'document.documentElement.scrollWidth'
    assert page.evaluate(wide) <= PHONE['width']
    world.shot(page, 'file-phone')
    page.get_by_role('link', name='All files').click()
    page.get_by_role('treeitem', name='kiln.rs').wait_for()
    page.goto(f'{world.url}/#/start/files?impact=fire')
    page.locator('.node').nth(1).wait_for()
    assert page.evaluate(wide) <= PHONE['width']


def test_axe_finds_nothing_in_a_file_a_graph_and_the_palette(world):
    found = []
    for dark in (False, True):
        page = world.page(dark=dark, bypass_csp=True)
        open_file(page, 'src/kiln.rs', 2)
        page.get_by_role('button', name='Outline').click()
        click_word(page, 1, 'fire')
        found += complaints(page, f'file, dark {dark}')
        page.goto(f'{world.url}/#/start/files?impact=fire')
        page.locator('.node').nth(1).wait_for()
        found += complaints(page, f'impact, dark {dark}')
        world.shot(page, f'impact-{"dark" if dark else "light"}')
        page.keyboard.press('Control+k')
        page.get_by_role('combobox', name='Search everything').fill('fire')
        page.get_by_role('group', name='Symbols').wait_for()
        found += complaints(page, f'palette, dark {dark}')
    assert not found, '\n'.join(found)
