"""Commands that users have written as files."""

import subprocess

FILES = {
    'src/main.rs': 'fn main() {}\n',
    '.toolkiln/commands/check.md': '---\ndescription: Check one file\nargument-hint: FILE\n---\nCheck $ARGUMENTS with care.\n',
    '.toolkiln/commands/files.md': 'Name all files.\n',
    '.toolkiln/commands/other.md': 'Do something <b>else</b>.\n',
}


def trust(world, *names):
    for name in names:
        command = [world.binary, 'tools', 'trust', f'.toolkiln/commands/{name}.md']
        subprocess.run(command, cwd=world.project, env=world.environment, check=True, capture_output=True)


def field(page):
    return page.get_by_label('Message', exact=True)


def test_a_command_is_completed_and_sends_its_text_with_what_was_typed(world):
    trust(world, 'check')
    page = world.page()
    field(page).press_sequentially('/che')
    page.get_by_role('option', name='/check FILE Check one file').wait_for()
    page.keyboard.press('Tab')
    world.until(page, "document.querySelector('.prompt textarea').value === '/check '")
    world.model.reply('It is fine.')
    page.keyboard.type('src/main.rs')
    page.keyboard.press('Enter')
    world.log(page).get_by_text('Check src/main.rs with care.').wait_for()
    assert world.model.requests or world.model.wait_for_requests(1) is None


def test_a_command_of_the_user_takes_the_place_of_ours(world):
    trust(world, 'files')
    page = world.page()
    field(page).press_sequentially('/files')
    page.get_by_role('option', name='/files Name all files.').wait_for()
    assert page.get_by_role('option').count() == 1
    # What it sends is seen first.
    page.keyboard.press('Enter')
    world.until(page, "document.querySelector('.prompt textarea').value === 'Name all files.'")


def test_a_command_that_is_not_trusted_says_so_and_sends_nothing(world):
    page = world.page()
    field(page).press_sequentially('/oth')
    page.get_by_role('option', name='/other is not trusted').click()
    told = page.locator('.message-line .error')
    told.get_by_text('toolkiln tools trust .toolkiln/commands/other.md').wait_for()
    # The same was told before; it is over when the field can send again.
    with page.expect_response(lambda response: 'arguments=now' in response.url):
        world.say(page, '/other now')
    page.locator('.send:not([disabled])').wait_for()
    told.get_by_text('is not trusted').wait_for()
    # A command of the terminal is not said to the model either.
    world.say(page, '/compact')
    told.get_by_text('/compact is a command of the terminal').wait_for()
    assert field(page).input_value() == '/compact'
    assert world.api('/sessions')['sessions'] == []


def test_a_path_at_the_beginning_is_a_message(world):
    page = world.page()
    world.model.reply('A directory.')
    world.begin(page, '/usr/bin is what?')
    world.log(page).get_by_text('/usr/bin is what?').wait_for()
    world.model.reply('I do not know.')
    world.wait_for_state(world.session(page), 'idle')
    world.say(page, '/nothing of this name')
    world.log(page).get_by_text('/nothing of this name').wait_for()
