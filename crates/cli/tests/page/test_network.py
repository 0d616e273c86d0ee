"""A network that is gone, slow, cut or lying, and a service that is killed: nothing is lost, doubled or run twice."""

from model import call
from proxy import Proxy, cut_in_the_middle_of_items, everything_twice, one_by_one

FILES = {'notes.txt': 'zero\n'}
WORDS = 'One – zwei – 三 – 🦀. '
LOST = 'Toolkiln does not answer'


def append(text):
    return call('append_file', path='notes.txt', content=text)


def answers(world, page):
    """What the model has said, as the page shows it."""
    return ' '.join(world.log(page).locator('.answer .prose').all_text_contents()).split()


def same_as_after_a_reload(world, page):
    """What is shown is what the log holds: every entry once, in order."""
    shown = world.log(page).text_content()
    page.reload()
    page.locator('.turn-end').last.wait_for()
    told = world.log(page).text_content()
    assert shown == told, f'{shown!r} was shown, {told!r} is in the log'


def through(world, tamper):
    proxy = Proxy(tamper)
    world.allow_lost_connections()
    return proxy, world.page(proxy=proxy.address)


def turn_in_pieces(world, page):
    """A turn whose answer comes in pieces, each sent after the page has shown the one before, and is never shown otherwise."""
    pieces = [WORDS, 'Two. ', 'Three. ', 'Four.']
    gates = [world.model.gate() for _ in pieces]
    world.model.reply(*(part for pair in zip(pieces, gates) for part in pair))
    world.begin(page, 'Count')
    for count, gate in enumerate(gates, 1):
        world.log(page).get_by_text(pieces[count - 1].strip()).wait_for()
        # What came before this piece has been drawn, as often as it was sent.
        before = ''.join(pieces[:count - 1]).split()
        assert answers(world, page)[:len(before) + 1] == [*before, pieces[count - 1].split()[0]], answers(world, page)
        gate.open()
    page.locator('.turn-end').wait_for()
    assert answers(world, page) == ''.join(pieces).split()


def test_offline_and_back(world):
    proxy, page = through(world, None)
    gate = world.model.gate()
    world.model.reply(WORDS, gate, 'Two.')
    session = world.begin(page, 'Count')
    world.log(page).get_by_text('One –').wait_for()
    proxy.down()
    world.offline(page)
    page.get_by_text(LOST).wait_for()
    world.shot(page, 'offline')
    gate.open()
    world.wait_for_state(session, 'idle')
    proxy.up()
    world.offline(page, False)
    page.locator('.turn-end').wait_for()
    page.get_by_text(LOST).wait_for(state='detached')
    assert answers(world, page) == f'{WORDS}Two.'.split()
    same_as_after_a_reload(world, page)
    proxy.close()


def test_a_message_that_cannot_be_sent_stays_in_the_field(world):
    world.allow_lost_connections()
    world.model.reply('Hello.')
    page = world.page()
    world.begin(page, 'Hi')
    page.locator('.turn-end').wait_for()
    world.kill()
    world.say(page, 'Do not lose me')
    page.get_by_text(LOST).wait_for()
    assert page.get_by_label('Message', exact=True).input_value() == 'Do not lose me'
    world.start()
    page.get_by_text(LOST).wait_for(state='detached')
    world.model.reply('It is here.')
    page.get_by_label('Message', exact=True).press('Enter')
    world.log(page).get_by_text('It is here.').wait_for()
    texts = [item['text'] for item in world.items(world.session(page)) if item['kind'] == 'message']
    assert texts == ['Hi', 'Do not lose me'], texts


def test_a_slow_network(world):
    world.model.reply('I add it.', append('one\n'))
    page = world.page()
    world.slow(page)
    world.begin(page, 'Add one')
    asked = world.ready_question(page)
    world.model.reply('Added.')
    asked.get_by_role('button', name='Approve').click()
    world.log(page).get_by_text('Added.').wait_for()
    assert world.read('notes.txt') == 'zero\none\n'


def test_bytes_one_by_one(world):
    proxy, page = through(world, one_by_one)
    turn_in_pieces(world, page)
    same_as_after_a_reload(world, page)
    proxy.close()


def test_a_stream_that_is_cut_in_the_middle_of_events(world):
    proxy, page = through(world, cut_in_the_middle_of_items(times=4))
    turn_in_pieces(world, page)
    assert proxy.streams > 4, proxy.streams
    same_as_after_a_reload(world, page)
    proxy.close()


def test_a_network_that_says_everything_twice(world):
    proxy, page = through(world, everything_twice)
    turn_in_pieces(world, page)
    same_as_after_a_reload(world, page)
    proxy.close()


def test_killed_in_the_middle_of_a_turn(world):
    world.allow_lost_connections()
    gate = world.model.gate()
    world.model.reply(WORDS, gate, 'Two.')
    page = world.page()
    session = world.begin(page, 'Count')
    world.log(page).get_by_text('One –').wait_for()
    world.kill()
    page.get_by_text(LOST).wait_for()
    world.start()
    page.get_by_text(LOST).wait_for(state='detached')
    world.wait_for_state(session, 'interrupted')
    assert answers(world, page) == WORDS.split(), answers(world, page)
    world.model.reply('Three.')
    world.say(page, 'Go on')
    world.log(page).get_by_text('Three.').wait_for()
    page.locator('.turn-end').last.wait_for()
    assert answers(world, page) == f'{WORDS}Three.'.split()
    texts = [item['text'] for item in world.items(session) if item['kind'] == 'message']
    assert texts == ['Count', 'Go on'], texts
    same_as_after_a_reload(world, page)


def test_killed_in_the_middle_of_an_approval(world):
    world.allow_lost_connections()
    world.model.reply('I add it.', append('one\n'))
    page = world.page()
    session = world.begin(page, 'Add one')
    world.ready_question(page)
    world.kill()
    page.get_by_text(LOST).wait_for()
    # The answer reaches no service, or comes too late; nothing may come of it.
    world.allow('status of 409')
    page.get_by_role('button', name='Approve').click()
    world.start()
    page.locator('.ask').wait_for(state='detached')
    assert world.read('notes.txt') == 'zero\n'

    world.model.reply('Again.', append('one\n'))
    world.say(page, 'Go on')
    asked = world.ready_question(page)
    assert world.read('notes.txt') == 'zero\n'
    world.model.reply('Added.')
    asked.get_by_role('button', name='Approve').click()
    world.log(page).get_by_text('Added.').wait_for()
    assert world.read('notes.txt') == 'zero\none\n'
    done = [item['state'] for item in world.items(session) if item['kind'] == 'call']
    assert done == ['interrupted', 'done'], done
    same_as_after_a_reload(world, page)


def test_killed_after_a_change_it_is_not_made_again(world):
    world.allow_lost_connections()
    gate = world.model.gate()
    world.model.reply('I add it.', append('one\n'))
    page = world.page()
    session = world.begin(page, 'Add one')
    asked = world.ready_question(page)
    world.model.reply(gate, 'never said')
    asked.get_by_role('button', name='Approve').click()
    gate.wait_until_reached()
    assert world.read('notes.txt') == 'zero\none\n'
    world.kill()
    page.get_by_text(LOST).wait_for()
    world.start()
    page.get_by_text(LOST).wait_for(state='detached')
    world.model.reply('It was added.')
    world.say(page, 'Go on')
    world.log(page).get_by_text('It was added.').wait_for()
    assert world.read('notes.txt') == 'zero\none\n'
    assert [item['state'] for item in world.items(session) if item['kind'] == 'call'] == ['done']
    told = [message['content'] for message in world.model.requests[-1]['messages'] if message['role'] == 'tool']
    assert len(told) == 1, told
    same_as_after_a_reload(world, page)
