"""axe finds nothing to complain about, on any view, in both themes, on a desk and on a phone."""

import os
from pathlib import Path

from harness import DESKTOP, PHONE
from views import VIEWS, open_view, session_with_everything

LOOKS = [('light', DESKTOP), ('dark', DESKTOP), ('light', PHONE), ('dark', PHONE)]
RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

# Models number the headings of their answers as they like, and these are shown as they were written.
EXCEPT = {'heading-order': {'enabled': False}}


def complaints(page, what):
    """What axe finds on a page as it is."""
    if not page.evaluate('() => Boolean(window.axe)'):
        page.evaluate(Path(os.environ['PAGE_AXE']).read_text())
    found = page.evaluate('(options) => axe.run(document, options)', {'runOnly': RULES, 'rules': EXCEPT})
    return [f'{what}: {problem["id"]}: {problem["help"]}: {node["html"][:160]} {node["failureSummary"][:300]}'
            for problem in found['violations'] for node in problem['nodes'][:3]]


def look_at_every_view(world, theme, size):
    session = session_with_everything(world)
    # The policy of the page does not let axe in; the other tests hold it.
    page = world.page(size=size, dark=theme == 'dark', bypass_csp=True)
    where = f'{theme} {size["width"]}'
    found = []
    for name, address in VIEWS:
        open_view(world, page, address, session)
        found += complaints(page, f'{name}, {where}')
        world.shot(page, f'{name}-{theme}-{size["width"]}')
    if size is DESKTOP:
        page.goto(f'{world.url}/#/')
        page.keyboard.press('Control+k')
        page.get_by_role('dialog').wait_for()
        found += complaints(page, f'palette, {where}')
        world.shot(page, f'palette-{theme}-{size["width"]}')
    assert not found, '\n'.join(found)


def test_light_on_a_desk(world):
    look_at_every_view(world, *LOOKS[0])


def test_dark_on_a_desk(world):
    look_at_every_view(world, *LOOKS[1])


def test_light_on_a_phone(world):
    look_at_every_view(world, *LOOKS[2])


def test_dark_on_a_phone(world):
    look_at_every_view(world, *LOOKS[3])


def test_the_login(world):
    world.allow('status of 401')
    found = []
    for theme, size in LOOKS:
        page = world.page(size=size, dark=theme == 'dark', log_in=False, bypass_csp=True)
        page.get_by_label('Token').wait_for()
        found += complaints(page, f'login, {theme} {size["width"]}')
        world.shot(page, f'login-{theme}-{size["width"]}')
    assert not found, '\n'.join(found)
