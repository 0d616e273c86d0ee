"""What the page costs in headless Chromium: `browser.py URL TOKEN RUNS NAME=ADDRESS…` prints one JSON object.

For each address: milliseconds from the navigation to the first paint, to an input that takes text, and to the first item of a
conversation, as lists; requests and bytes on the wire of the first visit.
"""

import json
import os
import sys
import urllib.request

from playwright.sync_api import sync_playwright

# Notes when something can first be found in the page; nothing is measured by polling.
NOTE = '''{
  window.seen = {};
  const look = () => {
    for (const [name, what] of [['input', 'textarea:not(:disabled)'], ['item', '.log .item']])
      if (!(name in window.seen) && document.querySelector(what)) window.seen[name] = performance.now();
  };
  new MutationObserver(look).observe(document, { childList: true, subtree: true });
}'''
# Text painted, in the browser's own account of it.
PAINT = '''() => new Promise((resolve) => {
  const found = () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime;
  if (found()) return resolve(found());
  return new PerformanceObserver(() => found() && resolve(found())).observe({ type: 'paint', buffered: true });
})'''
WATCHDOG = 60_000


def main():
    url, token, runs = sys.argv[1], sys.argv[2], int(sys.argv[3])
    addresses = dict(word.split('=', 1) for word in sys.argv[4:])
    cookie = log_in(url, token)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ['PAGE_BROWSER'], args=['--no-sandbox'])
        # The first page pays for the start of the browser's own processes.
        visit(browser, url, '#/', cookie)
        figures = {name: summed([visit(browser, url, address, cookie) for _ in range(runs)]) for name, address in addresses.items()}
        browser.close()
    print(json.dumps(figures))


def log_in(url, token):
    headers = {'origin': url, 'x-toolkiln': 'page', 'content-type': 'application/json'}
    request = urllib.request.Request(f'{url}/api/login', json.dumps({'code': token}).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        name, _, value = answer.headers['set-cookie'].split(';')[0].partition('=')
    return {'name': name, 'value': value, 'url': url, 'httpOnly': True, 'sameSite': 'Strict'}


def visit(browser, url, address, cookie):
    """One visit with an empty cache."""
    context = browser.new_context(viewport={'width': 1280, 'height': 800})
    context.set_default_timeout(WATCHDOG)
    context.add_cookies([cookie])
    context.add_init_script(NOTE)
    page = context.new_page()
    wire = context.new_cdp_session(page)
    wire.send('Network.enable')
    figures = {'requests': 0, 'bytes': 0}

    def sent(event):
        figures['requests'] += not event['request']['url'].startswith('data:')

    def came(event):
        figures['bytes'] += event.get('encodedDataLength', 0)

    wire.on('Network.requestWillBeSent', sent)
    wire.on('Network.loadingFinished', came)
    page.goto(f'{url}/{address}')
    page.locator('textarea').wait_for()
    if 'session' in address:
        page.locator('.log .item').first.wait_for()
    figures['paint'] = page.evaluate(PAINT)
    figures.update(page.evaluate('window.seen'))
    context.close()
    return figures


def summed(visits):
    first = visits[0]
    times = {name: [visit[name] for visit in visits if name in visit] for name in ('paint', 'input', 'item')}
    return {'requests': first['requests'], 'bytes': first['bytes'], **times}


main()
