"""Every view of the page, for tests that look at them all."""

from model import call

ANSWER = '''## A heading

Some **bold** and *soft* text with `code` and [a link](https://example.org).

1. one
2. two

> quoted

| file | lines |
|------|------:|
| src/main.rs | 3 |

```rust
fn main() {}
```
'''
CHANGED = 'fn main() {\n    let name = "world";\n    println!("goodbye {name}");\n}\n'

# Name and address. `{session}` has an answer, looks at files, and a question that waits.
VIEWS = [
    ('start', '#/'),
    ('conversation', '#/session/{session}'),
    ('review', '#/session/{session}/review'),
    ('files', '#/session/{session}/files'),
    ('history', '#/session/{session}/history'),
    ('console', '#/session/{session}/console'),
    ('inbox', '#/inbox'),
    ('analytics', '#/analytics'),
    ('settings', '#/settings'),
]


def session_with_everything(world):
    """A session that has answered, looked at files, changed one, and waits with a question about another."""
    model = world.model
    model.reply(ANSWER, call('read_file', path='src/main.rs'), call('grep', pattern='println'), call('list_directory', path='.'))
    model.reply('I change it.', call('write_file', path='src/main.rs', content=CHANGED))
    session = world.api('/sessions', {})['id']
    world.api(f'/sessions/{session}/messages', {'text': 'Say goodbye instead'})
    world.wait_for_state(session, 'waiting')
    model.reply('Now the other one.', call('write_file', path='README.md', content='# Demo\n\nIt says goodbye.\n'))
    world.answer(session)
    model.wait_for_requests(3)
    world.wait_for_question(session, 'README.md')
    return session


def open_view(world, page, address, session):
    """Shows a view and returns once it is drawn."""
    page.goto(f'{world.url}/{address.format(session=session)}')
    # On a phone a panel covers the conversation.
    place = '.panel' if address.count('/') > 2 else 'main'
    page.locator(place).wait_for()
    if address == '#/session/{session}':
        world.ready_question(page)
        page.locator('.log .item').first.wait_for()
    else:
        # Its heading is part of the frame; what comes after is the view itself.
        page.locator(f'{place} > :nth-child(2)').wait_for()
    # The stream never ends, so that there is no idle network to wait for.
    world.until(page, "!document.querySelector('[aria-busy=true]')")
