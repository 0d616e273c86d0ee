"""The pictures of the README: one task on a small shop, from the question to what it took."""

from model import call

CART = '''import { Line } from './line';

export class Cart {
  lines: Line[] = [];

  add(line: Line): void {
    this.lines.push(line);
  }

  total(): string {
    let sum = 0;
    for (const line of this.lines) sum += line.price * line.count;
    return sum.toString();
  }
}
'''
ROUNDED = CART.replace("import { Line } from './line';", "import { Line } from './line';\nimport * as money from './money';").replace(
    '''    let sum = 0;
    for (const line of this.lines) sum += line.price * line.count;
    return sum.toString();''',
    '''    const sum = this.lines.reduce((all, line) => all + line.price * line.count, 0);
    return money.format(money.round(sum));''')
FILES = {
    'src/cart.ts': CART,
    'src/line.ts': 'export interface Line {\n  name: string;\n  price: number;\n  count: number;\n}\n',
    'src/money.ts': '''export const round = (value: number): number => Math.round(value * 100) / 100;
export const format = (value: number): string => value.toFixed(2);
''',
    'test/cart.test.ts': "import { Cart } from '../src/cart';\n\ntest('a total has two decimals', () => {});\n",
    'README.md': '# Acme shop\n',
}


def looks(world):
    world.model.reply(
        'I will look at how totals are computed first.', call('grep', pattern='toFixed|round'), call('read_file', path='src/cart.ts'),
        call('read_file', path='src/money.ts'))
    world.model.reply(
        '`total()` adds floats and shows them with `toString`. The helper `money.round` exists but is not used here. I suggest to '
        'round once, at the end:\n\n```ts\nreturn money.format(money.round(sum));\n```\n', call('write_file', path='src/cart.ts', content=ROUNDED))


def task(world, page):
    looks(world)
    session = world.begin(page, 'Prices with three decimals show up in the cart. Find out why and fix it.')
    world.ready_question(page)
    return session


def test_the_conversation_and_the_question(world):
    page = world.page()
    page.set_viewport_size({'width': 1280, 'height': 800})
    task(world, page)
    page.locator('.code-keyword').first.wait_for()
    world.shot(page, 'picture-conversation')


def test_the_review_in_the_dark(world):
    page = world.page(dark=True)
    page.set_viewport_size({'width': 1440, 'height': 800})
    task(world, page)
    page.get_by_role('button', name='Review').last.click()
    page.locator('.review .s-keyword').first.wait_for()
    page.locator('.review-answer').get_by_role('button', name='Approve').and_(page.locator(':enabled')).wait_for()
    world.shot(page, 'picture-review')


def test_what_it_took(world):
    page = world.page()
    session = task(world, page)
    world.model.reply('Done: totals are rounded once, at the end.')
    page.get_by_role('button', name='Approve').click()
    world.wait_for_state(session, 'idle')
    world.model.reply('There are none.', to='TODO')
    world.begin(world.page(), 'Are there any TODO comments?')
    page.goto(f'{world.url}/#/analytics')
    page.get_by_role('heading', name='Tools').wait_for()
    world.shot(page, 'picture-analytics')


def test_the_question_on_a_phone(world):
    page = world.phone()
    task(world, page)
    world.shot(page, 'picture-phone')
