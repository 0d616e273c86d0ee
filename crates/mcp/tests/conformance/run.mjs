// Runs the official conformance suite in server mode against the product, and for tools that the suite calls by name
// against the same server with such tools, which is `conformance_server` among the examples of this crate.
// node run.mjs TOOLKILN CONFORMANCE_SERVER MODULES
// `toolkiln mcp --http` serves a project of its own. What may fail, and why, is in the file of each revision beside this;
// the suite fails for anything else, and for an entry that does not fail any more.

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';

const [toolkiln, suiteServer, modules] = process.argv.slice(2).map((given) => path.resolve(given));
const SUITE = path.join(modules, '@modelcontextprotocol/conformance/dist/index.js');
const REVISIONS = ['2026-07-28', '2025-11-25'];

/** What the suite calls by name, and a server can answer whose tools give text, images and errors. */
const WITH_TOOLS = ['tools-call-simple-text', 'tools-call-error', 'tools-call-image', 'tools-call-with-progress'];

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

/** Everything that a revision asks for, of the product. */
async function conforms(revision, url, home) {
  const expected = path.join(import.meta.dirname, `${revision}.yml`);
  const { code, told } = await suite(url, '--requirements', revision, '--expected-failures', expected,
    '-o', path.join(home, revision));
  const from = told.search(/^[✓✗]/m);
  const [, passed] = told.match(/^Total: (\d+) passed/m) ?? [];
  console.log(code === 0 ? `${revision}: ${passed} checks pass, and what fails is expected to` : told.slice(from));
  return code;
}

/** One scenario of the server with the suite's own tools. */
async function passes(scenario, revision, url, home) {
  const { code, told } = await suite(url, '--scenario', scenario, '--spec-version', revision,
    '-o', path.join(home, 'tools'));
  console.log(code === 0 ? `${revision}: ${scenario} passed` : told);
  return code;
}

const home = mkdtempSync(path.join(tmpdir(), 'conformance-'));
let failed = 0;
const served = await started(home);
const proxy = await withToken(served);
const address = new URL(`http://127.0.0.1:${proxy.address().port}/mcp`);
for (const revision of REVISIONS) failed += await conforms(revision, address, home);
served.server.kill();
const withTools = spawn(suiteServer, [home], { stdio: ['ignore', 'pipe', 'ignore'] });
const at = await printed(withTools);
for (const revision of REVISIONS) {
  for (const scenario of WITH_TOOLS) failed += await passes(scenario, revision, at, home);
}
withTools.kill();
proxy.closeAllConnections();
proxy.close();
rmSync(home, { recursive: true });
process.exitCode = failed ? 1 : 0;
