"""390 px wide: nothing scrolls sideways, and a question is in reach."""

from views import VIEWS, open_view, session_with_everything

LONG = 'an_unbroken_name_' * 30


def test_no_view_scrolls_sideways(world):
    session = session_with_everything(world)
    page = world.phone()
    wide = []
    for name, address in VIEWS:
        open_view(world, page, address, session)
        if page.evaluate('document.documentElement.scrollWidth') > 390:
            wide.append(name)
    assert not wide, wide


def test_a_long_word_does_not_make_the_page_wide(world):
    world.model.reply(f'{LONG}\n\n`{LONG}`\n\n    {LONG}\n')
    page = world.phone()
    world.begin(page, LONG)
    page.locator('.turn-end').wait_for()
    assert page.evaluate('document.documentElement.scrollWidth') <= 390


def test_a_question_can_be_answered_with_a_thumb(world):
    session = session_with_everything(world)
    page = world.phone(f'#/session/{session}')
    asked = world.ready_question(page)
    approve = asked.get_by_role('button', name='Approve')
    box = approve.bounding_box()
    assert box['height'] >= 44 and box['y'] + box['height'] <= 844 and box['x'] + box['width'] <= 390, box
    world.model.reply('All is done.')
    approve.tap()
    world.log(page).get_by_text('All is done.').wait_for()
    assert 'goodbye' in world.read('README.md')


def test_whatever_a_question_unfolds_stays_on_the_screen(world):
    session = session_with_everything(world)
    page = world.phone(f'#/session/{session}')
    asked = world.ready_question(page)
    for button in ('Deny…', 'Always…'):
        asked.get_by_role('button', name=button).click()
        asked.get_by_role('button', name='Back').wait_for()
        for place in asked.locator('button, textarea').all():
            box = place.bounding_box()
            assert box['x'] >= 0 and box['x'] + box['width'] <= 390 and box['y'] + box['height'] <= 844, (button, box)
        world.shot(page, f'question-phone-{button[:4].lower()}')
        asked.get_by_role('button', name='Back').click()


def test_the_list_of_sessions_opens_and_closes(world):
    session = session_with_everything(world)
    page = world.phone()
    page.get_by_role('button', name='Sessions').tap()
    page.get_by_role('link', name='Say goodbye instead').tap()
    page.wait_for_url(f'**/#/session/{session}')
    world.ready_question(page)
    # It goes as it came, by touch and by key, and leaves what it has covered.
    for close in (lambda: page.get_by_role('button', name='Close the list').tap(), lambda: page.keyboard.press('Escape')):
        page.get_by_role('button', name='Sessions').tap()
        page.get_by_role('link', name='Say goodbye instead').wait_for()
        close()
        page.get_by_role('button', name='Sessions').and_(page.locator(':focus')).wait_for()
    world.ready_question(page)
