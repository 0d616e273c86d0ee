// Does a whole task on the page in Firefox, by WebDriver BiDi.
//
// Usage: node firefox.mjs BINARY MODULES FIREFOX [SHOTS]
//
// MODULES is the `node_modules` with puppeteer-core, SHOTS a directory for pictures. Each check prints one line; the
// exit code is 1 if any failed.

import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

if (process.argv.length < 5) {
  console.error('Usage: node firefox.mjs BINARY MODULES FIREFOX [SHOTS]');
  process.exit(2);
}
const [binary, modules, firefox, shots] = process.argv.slice(2).map((path) => resolve(path));
const installed = createRequire(join(modules, 'any.js'));
const { default: puppeteer } = await import(pathToFileURL(installed.resolve('puppeteer-core')));

/** How long is waited for what must come, in milliseconds. */
const WATCHDOG = 20_000;
const counts = { passed: 0, failed: 0 };
const check = (name, holds, shown) => {
  counts[holds ? 'passed' : 'failed'] += 1;
  console.log(holds ? `ok      ${name}` : `FAILED  ${name}  ${JSON.stringify(shown)}`);
};

// ---- A model that says what it is told to ----

/** Replies in their order: pieces of text, calls, and promises that hold a reply up. */
const replies = [];

async function answer(request, response) {
  for await (const _ of request) { /* What it was asked does not matter. */ }
  if (request.method === 'GET') return response.end('{"data": [{"id": "opus"}]}');
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const tell = (value) => response.write(`data: ${JSON.stringify(value)}\n\n`);
  const chunk = { id: 'x', object: 'chat.completion.chunk', model: 'opus' };
  const delta = (given, end = null) => tell({ ...chunk, choices: [{ index: 0, delta: given, finish_reason: end }] });
  let calls = 0;
  for (const piece of replies.shift() ?? ['Nothing was prepared.']) {
    if (typeof piece === 'string') delta({ content: piece });
    else if (piece instanceof Promise) await piece;
    else {
      const called = { name: piece.tool, arguments: JSON.stringify(piece.given) };
      delta({ tool_calls: [{ index: calls, id: `call_${replies.length}_${calls}`, type: 'function', function: called }] });
      calls += 1;
    }
  }
  delta({}, calls ? 'tool_calls' : 'stop');
  tell({ ...chunk, choices: [], usage: { prompt_tokens: 1200, completion_tokens: 80, total_tokens: 1280 } });
  return response.end('data: [DONE]\n\n');
}

const model = createServer(answer);
await new Promise((ready) => { model.listen(0, '127.0.0.1', ready); });

// ---- The service ----

const home = mkdtempSync(join(tmpdir(), 'toolkiln-firefox-'));
const project = join(home, 'demo');
mkdirSync(join(project, 'src'), { recursive: true });
writeFileSync(join(project, 'src/main.rs'), 'fn main() {\n    println!("hello");\n}\n');
writeFileSync(join(project, 'README.md'), '# Demo\n');
const given = [
  'web', '--provider', 'ollama', '--base-url', `http://127.0.0.1:${model.address().port}/v1`, '--model', 'opus',
  '--listen', '127.0.0.1:0',
];
const env = { PATH: process.env.PATH, HOME: home, XDG_STATE_HOME: join(home, 'state'), XDG_CONFIG_HOME: join(home, 'c') };
const service = spawn(binary, given, { cwd: project, env, stdio: ['ignore', 'pipe', 'ignore'] });
const link = await new Promise((told) => { service.stdout.once('data', (data) => told(String(data).trim())); });

// ---- The task ----

process.on('exit', () => service.kill());
const browser = await puppeteer.launch({
  browser: 'firefox', executablePath: firefox, headless: true, extraPrefsFirefox: { 'ui.systemUsesDarkTheme': 0 },
});
const page = await browser.newPage();
page.setDefaultTimeout(WATCHDOG);
const errors = [];
page.on('pageerror', (error) => errors.push(`${error.message} ${error.stack}`));
page.on('console', (said) => said.type() === 'error' && errors.push(said.text()));

const shot = (name) => shots && page.screenshot({ path: join(shots, `firefox-${name}.png`) });
const see = (selector) => page.waitForSelector(selector, { visible: true });
const click = async (selector) => (await see(selector)).click();
/** Presses the button with these words in a part of the page. */
const press = async (part, words) => {
  const handle = await page.evaluateHandle((place, text) => [...document.querySelectorAll(`${place} button`)]
    .find((button) => button.textContent.trim() === text && !button.disabled), part, words);
  await handle.click();
};
const field = '.prompt textarea';
/** Returns once an expression is true. The policy of the page refuses scripts that are made of text. */
const until = (name, holds, ...more) => page.evaluate(`(${untilTrue})(${holds}, ${JSON.stringify(more)}, ${WATCHDOG})`)
  .then(() => check(name, true), (error) => check(name, false, error.message));
function untilTrue(holds, more, limit) {
  return new Promise((resolve, reject) => {
    const end = setTimeout(() => reject(new Error('it never became true')), limit);
    const look = () => {
      if (!holds(...more)) return requestAnimationFrame(look);
      clearTimeout(end);
      return resolve(true);
    };
    look();
  });
}
const says = (selector, text) => `() => [...document.querySelectorAll(${JSON.stringify(selector)})]
  .some((place) => place.textContent.includes(${JSON.stringify(text)}))`;

async function task() {
  await page.setViewport({ width: 1280, height: 800 });
  await page.goto(link);
  await see('.start');
  await until('the link logs in and leaves no code in the address', "() => !location.hash.includes('code')");
  await shot('start');

  let open;
  const held = new Promise((opened) => { open = opened; });
  const table = '| tool | use |\n|---|---|\n| grep | text |\n\n';
  const changed = 'fn main() {\n    println!("Bye");\n}\n';
  replies.push([
    'I look at **main** first', held, ', then:\n\n- one\n- two\n\n', table, '```rust\nfn main() {}\n```\n',
    { tool: 'read_file', given: { path: 'src/main.rs' } },
  ]);
  replies.push(['I change the greeting.', { tool: 'write_file', given: { path: 'src/main.rs', content: changed } }]);
  await page.type(field, 'Say goodbye instead');
  await page.keyboard.press('Enter');
  await until('an answer is seen while it streams', says('.prose.growing', 'I look at main first'));
  await shot('streaming');
  open();
  await until('lists, tables and code are drawn', "() => document.querySelector('.prose li') "
    + "&& document.querySelector('.prose td') && document.querySelector('.code-block')");
  await see('.ask[data-ready=true]');
  await until('code has its colours', "() => document.querySelector('.code-block .code-keyword')");
  await shot('question');

  await press('.ask-acts', 'Review');
  await until('the review shows the lines of the change', says('.review', 'Bye'));
  await see('.review .s-keyword');
  await shot('review');
  replies.push(['Done.']);
  check('nothing is written before the yes', readFileSync(join(project, 'src/main.rs'), 'utf8').includes('hello'));
  await see('.review-answer .go:not(:disabled)');
  await press('.review-answer', 'Approve');
  await until('the turn ends', "() => document.querySelector('.turn-end')");
  check('the change is written', readFileSync(join(project, 'src/main.rs'), 'utf8') === changed);

  await page.evaluate(() => { location.hash = `${location.hash.split('/').slice(0, 3).join('/')}/history`; });
  await until('the history has the diff', says('.history', 'Bye'));
  await shot('history');

  await page.keyboard.down('Control');
  await page.keyboard.press('k');
  await page.keyboard.up('Control');
  await see('dialog.palette input');
  await page.keyboard.type('mn');
  await until('the palette finds files and symbols by letters', `() => (${says('.palette', 'main.rs')})()
    && [...document.querySelectorAll('.palette-entry .is-code')].some((entry) => entry.textContent === 'main')`);
  await shot('palette');
  await page.keyboard.press('Escape');

  await page.evaluate(() => { location.hash = '#/settings'; });
  await click('input[value=dark]');
  await until('the dark theme is chosen', "() => document.documentElement.dataset.theme === 'dark'");
  await shot('settings-dark');
  await page.evaluate(() => { history.back(); });
  await see('.log');
  await shot('conversation-dark');
  await page.setViewport({ width: 390, height: 844, hasTouch: false });
  await until('nothing scrolls sideways at 390 px', '() => document.documentElement.scrollWidth <= 390');
  await until('the history is drawn on a narrow page too', says('.history', 'Bye'));
  await shot('phone-dark');
}

try {
  if (shots) mkdirSync(shots, { recursive: true });
  await task();
} catch (error) {
  check('the task goes to its end', false, error.message);
  await shot('failed');
}
check('the page had no errors', errors.length === 0, errors);
await browser.close();
model.close();
model.closeAllConnections();
rmSync(home, { recursive: true, force: true });
console.log(`${counts.passed} passed, ${counts.failed} failed`);
process.exit(counts.failed ? 1 : 0);
