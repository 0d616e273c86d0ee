// Runs the official conformance suite in server mode: what needs no tool of the suite's own against the product, and everything
// against `conformance_server` among the examples of this crate, which is the same server with those tools.
// node run.mjs TOOLKILN CONFORMANCE_SERVER MODULES
// `toolkiln mcp --http` serves a project of its own. What may fail, and why, is in `expected.yml` beside this; the suite fails for
// anything else, and for an entry that does not fail any more.

import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';

const [toolkiln, suiteServer, modules] = process.argv.slice(2).map((given) => path.resolve(given));
const SUITE = path.join(modules, '@modelcontextprotocol/conformance/dist/index.js');
const REVISIONS = ['2026-07-28', '2025-11-25'];

/**
 * What a revision requires and the product passes itself. The other scenarios call tools, prompts and resources by names that
 * only a server made for the suite has.
 */
const OF_THE_PRODUCT = {
  '2026-07-28': [
    'caching', 'completion-complete', 'dns-rebinding-protection', 'input-required-result-unsupported-methods',
    'input-required-result-validate-input', 'prompts-list', 'resources-list', 'sep-2164-resource-not-found', 'server-sse-multiple-streams',
    'server-stateless', 'tools-list',
  ],
  '2025-11-25': [
    'completion-complete', 'dns-rebinding-protection', 'ping', 'prompts-list', 'resources-list', 'server-initialize',
    'server-sse-multiple-streams', 'tools-list',
  ],
};

/** Checks of `server-stateless` that are made with tools of the suite. */
const WITH_ITS_TOOLS = [
  'server-stateless:sep-2575-server-rejects-undeclared-capability',
  'server-stateless:sep-2575-missing-capability-http-400',
  'server-stateless:sep-2575-http-server-no-independent-requests-on-stream',
  'server-stateless:sep-2575-server-no-log-without-loglevel',
];

/** A file that names everything of a revision which the product cannot be asked. */
function notOfTheProduct(revision, home) {
  const rules = readFileSync(path.join(modules, `@modelcontextprotocol/conformance/requirements/${revision}.yaml`), 'utf8');
  const [, listed] = rules.match(/^server:\n((?: {2}- .*\n)+)/m);
  const others = listed.match(/[\w-]+$/gm).filter((name) => !OF_THE_PRODUCT[revision].includes(name));
  if (OF_THE_PRODUCT[revision].includes('server-stateless')) others.push(...WITH_ITS_TOOLS);
  const file = path.join(home, `${revision}.yml`);
  writeFileSync(file, `server:\n${others.map((name) => `  - ${name}\n`).join('')}`);
  return file;
}

/** The address that a server prints first. */
function printed(server) {
  return new Promise((resolve, reject) => {
    server.stdout.once('data', (line) => resolve(new URL(String(line).trim())));
    server.once('exit', (code) => reject(new Error(`the server ended with ${code}`)));
  });
}

/** A server of a new project: its address and the token for agents. */
async function started(home) {
  const root = mkdtempSync(path.join(home, 'project-'));
  writeFileSync(path.join(root, 'notes.txt'), 'first\n');
  const state = path.join(home, 'state');
  const env = { PATH: process.env.PATH, HOME: home, XDG_STATE_HOME: state };
  const server = spawn(toolkiln, ['mcp', '--http', '--port', '0', '--root', root], {
    env, stdio: ['ignore', 'pipe', 'ignore'],
  });
  const url = await printed(server);
  const { mcp: token } = JSON.parse(readFileSync(path.join(state, 'toolkiln/web/secrets.json'), 'utf8'));
  return { server, url, token };
}

/**
 * The suite cannot send a token. This adds it, and says its own address as the server's; every other byte goes through as
 * it is, so the checks of Host and Origin are still the server's.
 */
async function withToken({ url, token }) {
  const proxy = http.createServer((request, response) => {
    const own = new RegExp(`(127\\.0\\.0\\.1|localhost):${proxy.address().port}$`);
    const headers = [];
    for (let at = 0; at < request.rawHeaders.length; at += 2) {
      const [name, value] = request.rawHeaders.slice(at, at + 2);
      const isAddress = ['host', 'origin'].includes(name.toLowerCase());
      headers.push(name, isAddress ? value.replace(own, `$1:${url.port}`) : value);
    }
    headers.push('Authorization', `Bearer ${token}`);
    const { method, url: target } = request;
    const to = { host: url.hostname, port: url.port, method, path: target, headers, setHost: false };
    const passed = http.request(to, (answer) => {
      response.writeHead(answer.statusCode, answer.rawHeaders);
      answer.pipe(response);
    });
    passed.on('error', () => response.destroy());
    response.on('close', () => passed.destroy());
    request.pipe(passed);
  });
  await new Promise((resolve) => { proxy.listen(0, '127.0.0.1', resolve); });
  return proxy;
}

/** Runs the suite; answers with its exit code and what it says. */
function suite(url, ...options) {
  const running = spawn(process.execPath, [SUITE, 'server', '--url', String(url), ...options], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let told = '';
  running.stdout.on('data', (text) => { told += text; });
  return new Promise((resolve) => { running.once('exit', (code) => resolve({ code, told })); });
}

/** Everything that a revision asks for, but for what is expected to fail. */
async function conforms(who, revision, url, expected, home) {
  const { code, told } = await suite(url, '--requirements', revision, '--expected-failures', expected,
    '-o', path.join(home, who, revision));
  const [, checks] = told.match(/^Total: (\d+) passed/m) ?? [];
  const passed = told.match(/^✓ [\w-]+: [1-9]\d* passed/gm) ?? [];
  const well = code === 0 && passed.length >= OF_THE_PRODUCT[revision].length;
  console.log(well ? `${revision}, ${who}: ${passed.length} scenarios with ${checks} checks pass`
    : told.slice(told.search(/^[✓✗]/m)));
  return well ? 0 : 1;
}

const home = mkdtempSync(path.join(tmpdir(), 'conformance-'));
let failed = 0;
const served = await started(home);
const proxy = await withToken(served);
const address = new URL(`http://127.0.0.1:${proxy.address().port}/mcp`);
for (const revision of REVISIONS) {
  failed += await conforms('the product', revision, address, notOfTheProduct(revision, home), home);
}
served.server.kill();
const places = ['suite-project', 'suite-state'].map((name) => path.join(home, name));
places.forEach((place) => mkdirSync(place));
const withTools = spawn(suiteServer, places, { stdio: ['ignore', 'pipe', 'ignore'] });
const at = await printed(withTools);
const listed = path.join(import.meta.dirname, 'expected.yml');
for (const revision of REVISIONS) failed += await conforms('with the tools of the suite', revision, at, listed, home);
withTools.kill();
proxy.closeAllConnections();
proxy.close();
rmSync(home, { recursive: true });
process.exitCode = failed ? 1 : 0;
