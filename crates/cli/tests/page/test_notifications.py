"""Notifications of the browser."""

from model import call

# What would be shown is kept; the permission is the browser's own. The page counts as being behind others.
KEEP = """(() => {
  const Real = Notification;
  globalThis.shown = [];
  globalThis.Notification = class {
    constructor(title, more) {
      Object.assign(this, { title, ...more });
      shown.push(this);
    }
    close() { this.isClosed = true; }
    static get permission() { return Real.permission; }
    static requestPermission() { return Real.requestPermission(); }
  };
  document.hasFocus = () => false;
})();"""


def asking(world):
    """A session whose question waits."""
    session = world.api('/sessions', {})['id']
    world.model.reply('I write.', call('write_file', path='a <b>.txt', content='x\n'))
    world.api(f'/sessions/{session}/messages', {'text': 'Write it'})
    world.wait_for_state(session, 'waiting')
    return session


def behind_others(world, address):
    page = world.page('#/settings')
    page.context.grant_permissions(['notifications'], origin=world.url)
    page.context.add_init_script(KEEP)
    page.goto(f'{world.url}/{address}')
    page.reload()
    return page


def test_a_question_is_notified_and_a_click_leads_to_it(world):
    page = behind_others(world, '#/settings')
    page.get_by_label('Notify me').wait_for()
    session = asking(world)
    world.until(page, 'shown.length === 1')
    assert page.evaluate('[shown[0].title, shown[0].body]') == ['Toolkiln waits for you', 'Question: Write a <b>.txt']
    page.evaluate('shown[0].onclick()')
    page.wait_for_url(f'**/#/session/{session}')
    world.ready_question(page)
    assert page.evaluate('shown[0].isClosed')


def test_a_question_of_a_call_by_hand_leads_to_all_questions(world):
    page = behind_others(world, '#/start/console')
    page.get_by_label('Filter the tools').fill('create_file')
    page.get_by_role('navigation', name='Tools').get_by_role('button', name='create_file').first.click()
    page.get_by_role('button', name='Example').click()
    page.get_by_role('button', name='Run', exact=True).click()
    world.until(page, 'shown.length === 1')
    page.evaluate('shown[0].onclick()')
    page.wait_for_url('**/#/inbox')


def test_they_are_turned_off_and_stay_off(world):
    page = behind_others(world, '#/settings')
    page.get_by_label('Notify me').uncheck()
    page.reload()
    page.get_by_label('Notify me').and_(page.locator(':not(:checked)')).wait_for()
    asking(world)
    page.get_by_role('link', name='1 question waits').wait_for()
    assert page.evaluate('shown.length') == 0


def test_where_they_are_refused_that_is_said(world):
    page = world.page('#/settings')
    # They cannot be allowed here.
    page.get_by_role('button', name='Allow notifications').click()
    page.get_by_text('This browser does not allow them for this page').wait_for()
    assert page.get_by_label('Notify me').count() == 0
