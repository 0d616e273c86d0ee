"""What admins of a team do on the page: users, shares of projects, budgets and the audit; and what others do not see."""

import datetime
import re

from harness import DESKTOP, PHONE, status_of
from model import call
from team_world import TeamWorld
from test_axe import complaints

WORLD = TeamWorld
SIZES = [('light', DESKTOP), ('dark', DESKTOP), ('light', PHONE), ('dark', PHONE)]
# Name, address, and what is there once it is drawn.
PARTS = [
    ('users', '#/team', 'Invite a user'),
    ('projects', '#/team/projects', 'shared with 3 users'),
    ('budgets', '#/team/budgets', 'All users in all projects'),
    ('audit', '#/team/audit', 'logged in'),
    ('account', '#/settings', 'Spent today, since midnight UTC: $12.00 in demo.'),
]
SPENT = [('ada', 'demo', 3.5), ('ada', 'site', 0.042), ('grace', 'demo', 12.0)]


def with_team(world):
    """Ada is a member, Vic a viewer, Pat an approver."""
    for name, role in [('Ada', 'member'), ('Vic', 'viewer'), ('Pat', 'approver')]:
        world.add(name, role)


def with_spending(world, page):
    """What was spent cannot be made by a scripted model, whose prices are those of no provider."""
    ids = {**world.users, 'grace': world.users['all']}
    rows = [{'user': ids[user], 'project': project, 'usd': usd} for user, project, usd in SPENT]
    page.route('**/api/spending', lambda route: route.fulfill(json={'spending': rows}))


def shares(world):
    names = {user: name for name, user in world.users.items()}
    return sorted((share['project'], names[share['user']]) for share in world.api('/shares')['shares'])


def decision(world, approve):
    """A session of Ada's with a question that Pat answers."""
    session = world.api('/sessions', {'project': 'demo', 'title': 'Add a note'}, token='ada')['id']
    world.model.reply('I add it.', call('append_file', path='README.md', content='More.\n'))
    world.api(f'/sessions/{session}/messages', {'text': 'Add a note'}, token='ada')
    question = world.wait_for_question(session)
    world.model.reply('Done.')
    world.api(f'/approvals/{session}/{question["question"]}', {'approve': approve}, token='pat')
    world.wait_for_state(session, 'idle')
    return session


def test_a_project_is_shared_and_taken_away(world):
    with_team(world)
    page = world.page('#/team/projects')
    site = page.get_by_role('group', name=re.compile('^site'))
    site.get_by_text('no user: only admins see it').wait_for()
    site.get_by_label('site is shared with Ada').check()
    site.get_by_text('shared with 1 user').wait_for()
    assert ('site', 'ada') in shares(world), shares(world)
    demo = page.get_by_role('group', name=re.compile('^demo'))
    assert demo.get_by_label('demo is shared with Vic').is_checked()
    # A keyboard does it as well.
    demo.get_by_label('demo is shared with Vic').focus()
    page.keyboard.press('Space')
    demo.get_by_text('shared with 2 users').wait_for()
    assert shares(world) == [('demo', 'ada'), ('demo', 'pat'), ('site', 'ada')], shares(world)
    assert world.api('/me', token='vic')['projects'] == []


def test_a_refused_share_is_told_and_not_shown_as_made(world):
    with_team(world)
    world.allow('status of 500')
    page = world.page('#/team/projects')
    box = page.get_by_label('site is shared with Ada')
    box.wait_for()
    error = {'error': {'code': 'INTERNAL', 'message': "the team's database fails: it is full"}}
    page.route('**/api/projects/site/people/**', lambda route: route.fulfill(status=500, json=error))
    box.click()
    page.get_by_text("the team's database fails: it is full").wait_for()
    page.get_by_role('checkbox', name='site is shared with Ada', checked=False).wait_for()


def test_budgets_are_set_changed_and_removed_beside_what_was_spent(world):
    with_team(world)
    page = world.page('#/team/budgets')
    page.get_by_text('There are no budgets').wait_for()
    page.get_by_text('Nothing was spent since midnight UTC.').wait_for()
    with_spending(world, page)
    page.reload()
    form = page.locator('form')
    form.get_by_label('User').select_option(label='Ada')
    form.get_by_label('Dollars a day').fill('5')
    page.keyboard.press('Enter')
    page.get_by_text('Ada in all projects').wait_for()
    page.get_by_text('$3.54 of $5 spent today').wait_for()
    form.get_by_label('Project').select_option('demo')
    form.get_by_label('Dollars a day').fill('12.5')
    form.get_by_role('button', name='Set').click()
    page.get_by_text('$15.50 of $12.50 spent today, used up').wait_for()
    page.get_by_role('button', name='Change the budget of Ada in all projects').click()
    assert form.get_by_label('Dollars a day').input_value() == '5'
    page.keyboard.type('0')
    page.keyboard.press('Enter')
    page.get_by_text('$3.54 of $50 spent today').wait_for()
    page.get_by_role('button', name='Remove the budget of All users in demo').click()
    page.get_by_role('button', name='Remove it').click()
    page.locator('.team-note b').wait_for(state='detached')
    assert world.api('/budgets')['budgets'] == [{'user': world.users['ada'], 'project': None, 'usd_per_day': 50.0}]
    spent = page.get_by_role('region', name='Spent today')
    assert spent.locator('tfoot').inner_text().split() == ['Together', '$15.54'], spent.inner_text()


def test_the_audit_says_who_decided_what_in_which_session(world):
    with_team(world)
    session = decision(world, approve=True)
    page = world.page('#/team/audit')
    row = page.locator('.team-day li', has_text='Pat approved append_file')
    row.wait_for()
    row.get_by_role('link', name='Add a note').click()
    page.wait_for_url(f'{world.url}/#/session/{session}')
    page.go_back()
    page.get_by_label('User').select_option(label='Pat')
    page.locator('.team-day li', has_text='Ada').first.wait_for(state='detached')
    row.wait_for()
    # What was chosen is in the address, so that it can be passed on.
    assert f'user={world.users["pat"]}' in page.url
    page.get_by_label('Since').fill('2999-01-01')
    page.get_by_text('Nothing was decided that fits.').wait_for()
    page.get_by_label('Since').fill('')
    row.wait_for()
    page.get_by_label('Until').fill('2001-01-01')
    page.get_by_text('Nothing was decided that fits.').wait_for()
    # A day ends at the midnight after it.
    page.get_by_label('Until').fill(datetime.date.today().isoformat())
    row.wait_for()
    with page.expect_download() as kept:
        page.get_by_role('button', name='Export as CSV').click()
    assert kept.value.suggested_filename == 'audit.csv'
    lines = open(kept.value.path()).read().splitlines()
    assert lines[0].startswith('at,user,kind') and any(',approved,demo,' in line for line in lines), lines
    assert not any(world.users['ada'] == line.split(',')[1] for line in lines), lines


def test_older_decisions_come_page_by_page(world):
    asked = []

    def answer(route):
        query = dict(part.split('=') for part in route.request.url.split('?')[1].split('&'))
        asked.append(query)
        page_of = {None: (range(0, 2), 'c1'), 'c1': (range(2, 4), 'c2'), 'c2': (range(4, 5), None)}
        numbers, following = page_of[query.get('cursor')]
        rows = [{'at': 1_700_000_000_000 - number * 86_400_000, 'user': None, 'kind': 'denied', 'project': 'demo',
                 'session': None, 'subject': f'tool_{number}', 'detail': ''} for number in numbers]
        route.fulfill(json={'entries': rows, 'next': following})

    page = world.page('#/team')
    page.route('**/api/audit?**', answer)
    page.get_by_role('link', name='Audit').click()
    page.get_by_text('2 decisions, the latest first.').wait_for()
    page.get_by_role('button', name='Older').click()
    page.get_by_text('tool_3').wait_for()
    page.get_by_role('button', name='Older').click()
    page.get_by_text('These are all 5 decisions.').wait_for()
    assert page.get_by_role('button', name='Older').count() == 0
    assert page.locator('.team-subject').all_text_contents() == [f'tool_{number}' for number in range(5)]
    page.get_by_label('Project').select_option('demo')
    page.get_by_text('2 decisions, the latest first.').wait_for()
    assert asked[-1]['project'] == 'demo' and 'cursor' not in asked[-1], asked


def test_an_audit_that_fails_says_so_and_is_tried_again(world):
    world.allow('status of 503')
    page = world.page('#/team')
    error = {'error': {'code': 'BUSY', 'message': 'too much is asked at once', 'suggestion': 'Try again later'}}
    page.route('**/api/audit?**', lambda route: route.fulfill(status=503, json=error))
    page.get_by_role('link', name='Audit').click()
    page.get_by_text('too much is asked at once. Try again later').wait_for()
    page.unroute('**/api/audit?**')
    page.get_by_role('button', name='Try again').click()
    page.get_by_text('Grace joined the team').wait_for()


def test_an_invited_user_sees_the_chosen_projects(world):
    page = world.page('#/team')
    page.get_by_label('For').fill('Ada')
    page.get_by_role('checkbox', name='site').uncheck()
    page.get_by_role('button', name='Invite', exact=True).click()
    link = page.locator('.team-secret code').inner_text()
    page.get_by_role('heading', name='Open invitations').wait_for()
    page.get_by_role('button', name='Withdraw the invitation for Ada').wait_for()
    world.join('ada', 'Ada', 'member', link.split('#code=')[1])
    assert world.api('/me', token='ada')['projects'] == ['demo']
    page.reload()
    page.get_by_label('Role of Ada').select_option('approver')
    page.get_by_role('button', name='Disable Ada').click()
    page.get_by_role('button', name='Enable Ada').wait_for()
    user = next(user for user in world.api('/people')['users'] if user['name'] == 'Ada')
    assert (user['role'], user['disabled']) == ('approver', True), user


def test_others_see_their_own_account_only(world):
    with_team(world)
    for token in ['vic', 'ada', 'pat']:
        page = world.page('#/settings', token=token)
        page.get_by_text('Spent today, since midnight UTC: nothing.').wait_for()
        assert page.get_by_role('link', name='Team').count() == 0
        page.goto(f'{world.url}/#/team/audit')
        page.get_by_text('are managed by admins').wait_for()
    assert status_of(lambda: world.api('/audit', token='pat')) == 403


def test_a_user_without_projects_reaches_the_account(world):
    world.add('Eve', 'viewer', projects=[])
    page = world.page('#/settings', token='eve')
    page.get_by_text('as soon as one is served and shared with you').wait_for()
    page.get_by_label('Name').fill('laptop')
    page.get_by_role('button', name='Make a token').click()
    page.get_by_text('The token is shown once').wait_for()


def test_parts_of_the_team_are_loaded_when_they_are_opened(world):
    sent = []
    page = world.page('#/')
    page.get_by_role('link', name='Team').wait_for()
    page.goto('about:blank')
    page.on('request', lambda request: sent.append(request.url.removeprefix(world.url)))
    page.goto(f'{world.url}/#/')
    page.get_by_role('link', name='Team').wait_for()
    assert len(sent) <= 15 and not any('team' in path for path in sent), sent
    page.get_by_role('link', name='Team').click()
    page.get_by_role('heading', name='Invite a user').wait_for()
    assert not any('team_audit' in path or 'team_budgets' in path for path in sent), sent


def test_every_part_in_both_themes_on_a_desk_and_on_a_phone(world):
    with_team(world)
    decision(world, approve=True)
    decision(world, approve=False)
    world.api('/projects/site/people/' + world.users['pat'], method='PUT')
    for body in [{'user': world.users['ada'], 'usd_per_day': 5}, {'project': 'demo', 'usd_per_day': 12.5}, {'usd_per_day': 100}]:
        world.api('/budgets', body, method='PUT')
    found = []
    for theme, size in SIZES:
        page = world.page(size=size, dark=theme == 'dark', bypass_csp=True)
        with_spending(world, page)
        for name, address, text in PARTS:
            page.goto(f'{world.url}/{address}')
            page.get_by_text(text).first.wait_for()
            page.get_by_text(text).first.scroll_into_view_if_needed()
            found += complaints(page, f'{name}, {theme} {size["width"]}')
            world.shot(page, f'team-{name}-{theme}-{size["width"]}')
            wide = page.evaluate('() => document.documentElement.scrollWidth > innerWidth')
            assert not wide, f'{name} is wider than {size["width"]} px'
    assert not found, '\n'.join(found)
