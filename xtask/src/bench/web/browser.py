"""What a page costs in headless Chromium: `browser.py WANTED`, where WANTED is JSON, prints one JSON object.

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
    for (const [name, what] of WANTED)
      if (!(name in window.seen) && document.querySelector(what)) window.seen[name] = performance.now();
  };
  new MutationObserver(look).observe(document, { childList: true, subtree: true, attributes: true });
}'''
# Text painted, in the browser's own account of it.
PAINT = '''() => new Promise((resolve) => {
  const found = () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime;
  if (found()) return resolve(found());
  return new PerformanceObserver(() => found() && resolve(found())).observe({ type: 'paint', buffered: true });
})'''
WATCHDOG = 120_000
# What a page fetches after it can be used belongs to it too.
SETTLED = 1_000


def main():
    wanted = json.loads(sys.argv[1])
    cookies = [log_in(wanted)] if wanted['token'] else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ['PAGE_BROWSER'], args=['--no-sandbox'])
        figures = {}
        for name, address in wanted['addresses']:
            # The first visit pays for the start of the browser's own processes, and is the one whose bytes are counted.
            counted = visit(browser, wanted, address, cookies, counting=True)
            visits = [visit(browser, wanted, address, cookies) for _ in range(wanted['runs'])]
            times = {name: [visit[name] for visit in visits if name in visit] for name in ('paint', 'input', 'item')}
            figures[name] = {'requests': counted['requests'], 'bytes': counted['bytes'], **times}
        browser.close()
    print(json.dumps(figures))


def log_in(wanted):
    url = wanted['url']
    headers = {'origin': url, 'x-toolkiln': 'page', 'content-type': 'application/json'}
    request = urllib.request.Request(f'{url}/api/login', json.dumps({'code': wanted['token']}).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        name, _, value = answer.headers['set-cookie'].split(';')[0].partition('=')
    return {'name': name, 'value': value, 'url': url, 'httpOnly': True, 'sameSite': 'Strict'}


def visit(browser, wanted, address, cookies, counting=False):
    """One visit with an empty cache."""
    context = browser.new_context(viewport={'width': 1280, 'height': 800})
    context.set_default_timeout(WATCHDOG)
    context.add_cookies(cookies)
    names = ['input', 'item'] if address != wanted['addresses'][0][1] else ['input']
    context.add_init_script(NOTE.replace('WANTED', json.dumps([[name, wanted[name]] for name in names])))
    page = context.new_page()
    figures = {'requests': 0, 'bytes': 0}

    def sent(event):
        figures['requests'] += not event['request']['url'].startswith('data:')

    def came(event):
        figures['bytes'] += event.get('encodedDataLength', 0)

    if counting:
        wire = context.new_cdp_session(page)
        wire.send('Network.enable')
        wire.on('Network.requestWillBeSent', sent)
        wire.on('Network.loadingFinished', came)
    page.goto(wanted['url'] + address)
    for name in names:
        page.locator(wanted[name]).first.wait_for()
    figures['paint'] = page.evaluate(PAINT)
    figures.update(page.evaluate('window.seen'))
    if counting:
        page.wait_for_timeout(SETTLED)
    context.close()
    return figures


main()
