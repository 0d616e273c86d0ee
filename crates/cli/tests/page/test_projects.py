"""Several projects in one service."""

import re

from model import call

CART = 'export class ShoppingCart { total() { return 0; } }\n'


def two_projects(world):
    """Starts the service again with a second project beside the first."""
    other = world.home / 'shop'
    (other / 'src').mkdir(parents=True)
    (other / 'src/cart.ts').write_text(CART)
    (other / 'README.md').write_text('# Shop\n')
    world.kill()
    world.start('--also', str(other))
    return other


def test_a_session_is_begun_in_the_chosen_project_and_decides_the_next(world):
    other = two_projects(world)
    page = world.page()
    page.get_by_role('region', name='demo').wait_for()
    page.get_by_role('link', name='New session in shop').click()
    world.model.reply('I write.', call('write_file', path='price.ts', content='export const price = 2;\n'))
    session = world.begin(page, 'Set the price')
    world.ready_question(page).get_by_role('button', name='Approve').click()
    world.model.reply('Done.')
    world.wait_for_state(session, 'idle')
    assert (other / 'price.ts').read_text() == 'export const price = 2;\n'
    page.get_by_role('region', name='shop').get_by_role('link', name='Set the price').wait_for()
    assert page.get_by_role('region', name='demo').get_by_role('link', name='Set the price').count() == 0
    # The next one is in the same project, also after the page was loaded again.
    page.get_by_role('link', name='New session', exact=True).click()
    assert page.get_by_label('Project').input_value() == 'shop'
    page.reload()
    page.get_by_label('Project').wait_for()
    assert page.get_by_label('Project').input_value() == 'shop'


def test_questions_of_all_projects_are_in_one_place(world):
    other = two_projects(world)
    for project, path in (('demo', 'README.md'), ('shop', 'src/cart.ts')):
        world.model.reply('I write.', call('write_file', path=path, content=f'{project}\n'), to=project)
        session = world.api('/sessions', {'project': project})['id']
        world.api(f'/sessions/{session}/messages', {'text': f'Write in {project}'})
        world.wait_for_state(session, 'waiting')
    page = world.page('#/inbox')
    page.locator('.ask[data-ready=true]').nth(1).wait_for()
    session = next(known['id'] for known in world.api('/sessions')['sessions'] if known['project'] == 'shop')
    heads = page.get_by_role('heading', level=2).all_text_contents()
    assert {'Write in demo demo', 'Write in shop shop'} <= set(heads), heads
    world.shot(page, 'projects-inbox')
    world.model.reply('Done.')
    page.locator('section').filter(has_text='Write in shop').locator('.ask').get_by_role('button', name='Approve').click()
    page.get_by_role('link', name='1 question waits').wait_for()
    world.wait_for_state(session, 'idle')
    assert (other / 'src/cart.ts').read_text() == 'shop\n'
    assert world.read('README.md').startswith('# Demo')


def test_the_palette_finds_in_all_projects_and_goes_there(world):
    two_projects(world)
    page = world.page()
    page.get_by_label('Project').wait_for()
    page.keyboard.press('Control+k')
    page.get_by_role('combobox', name='Search everything').fill('cart')
    found = page.get_by_role('group', name='Files').get_by_role('option', name='shop · src/cart.ts')
    found.wait_for()
    world.shot(page, 'projects-palette')
    found.click()
    page.get_by_role('region', name='Text of the file').get_by_text('ShoppingCart').first.wait_for()
    assert page.get_by_label('Project').first.input_value() == 'shop'
    # It is found again where it was.
    page.reload()
    page.get_by_role('region', name='Text of the file').get_by_text('ShoppingCart').first.wait_for()


def test_console_and_settings_are_of_the_chosen_project(world):
    two_projects(world)
    page = world.page('#/start/console')
    panel = page.get_by_role('complementary', name='Console')
    panel.get_by_label('Project').select_option('shop')
    page.get_by_label('Filter the tools').fill('grep')
    page.get_by_role('navigation', name='Tools').get_by_role('button', name='grep').first.click()
    page.get_by_label('pattern').fill('class')
    page.keyboard.press('Enter')
    page.get_by_role('group', name='Value of the answer').get_by_text(re.compile('cart.ts')).wait_for()
    page.get_by_role('link', name='Settings').click()
    page.locator('.settings').get_by_text('/shop').wait_for()
    page.locator('.settings').get_by_label('Project').select_option('demo')
    page.locator('.settings').get_by_text('/demo').wait_for()


def test_a_phone_has_large_targets_to_choose_a_project(world):
    two_projects(world)
    page = world.phone()
    assert page.get_by_label('Project').bounding_box()['height'] >= 44
    page.get_by_role('button', name='Sessions').click()
    box = page.get_by_role('link', name='New session in shop').bounding_box()
    assert min(box['width'], box['height']) >= 44
    world.shot(page, 'projects-phone')
