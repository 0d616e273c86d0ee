"""Questions of other agents, which reach the page by a link."""

import json
import urllib.request

REVISION = '2026-07-28'
FILES = {'notes.txt': 'first\n', 'other.txt': 'first\n'}


def call(world, path, **more):
    """Calls a tool as a host that opens links; answers with the result."""
    meta = {
        'io.modelcontextprotocol/protocolVersion': REVISION,
        'io.modelcontextprotocol/clientCapabilities': {'elicitation': {'url': {}}},
    }
    arguments = {'path': path, 'content': 'second\n'}
    params = {'name': 'append_file', 'arguments': arguments, '_meta': meta, **more}
    message = {'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call', 'params': params}
    headers = {
        'authorization': f'Bearer {world.tokens["mcp"]}', 'content-type': 'application/json',
        'accept': 'application/json, text/event-stream', 'mcp-protocol-version': REVISION,
        'mcp-method': 'tools/call', 'mcp-name': 'append_file',
    }
    request = urllib.request.Request(f'{world.url}/mcp', json.dumps(message).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)['result']


def link_of(asked):
    return asked['inputRequests']['approval']['params']['url']


def repeated(world, path, asked):
    answers = {'approval': {'action': 'accept'}}
    return call(world, path, requestState=asked['requestState'], inputResponses=answers)


def answer(page, label):
    page.locator('.review').get_by_role('button', name=label).and_(page.locator(':enabled')).click()


def test_the_link_shows_exactly_the_question_of_the_call(world):
    first, second = call(world, 'notes.txt'), call(world, 'other.txt')
    page = world.page()
    page.goto(link_of(second))
    page.locator('.review h2').get_by_text('other.txt').wait_for()
    page.locator('.review .add').get_by_text('second').wait_for()
    page.get_by_role('heading', name='Other agents').wait_for()
    answer(page, 'Approve')
    # Approved is that one and no other.
    assert repeated(world, 'other.txt', second)['isError'] is False
    assert (world.read('notes.txt'), world.read('other.txt')) == ('first\n', 'first\nsecond\n')
    page.goto(link_of(first))
    page.locator('.review').get_by_text('A call of another agent').wait_for()
    page.locator('.review').get_by_role('button', name='Deny…').and_(page.locator(':enabled')).click()
    page.get_by_role('button', name='Deny', exact=True).and_(page.locator(':enabled')).click()
    assert repeated(world, 'notes.txt', first)['isError'] is True
    assert world.read('notes.txt') == 'first\n'


def test_a_link_is_of_no_use_without_a_login(world):
    asked = call(world, 'notes.txt')
    world.allow('401')
    page = world.page(log_in=False)
    page.goto(link_of(asked))
    page.get_by_role('textbox').wait_for()
    assert page.locator('.review').count() == 0
