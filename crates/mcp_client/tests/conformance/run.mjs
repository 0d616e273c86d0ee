// Runs the official conformance suite in client mode: servers of the suite are asked by `conformance_client` among the examples of
// this crate, which is our own client without a screen.
// node run.mjs CONFORMANCE_CLIENT MODULES
// What may fail, and why, is in `expected.yml` beside this; the suite fails for anything else, and for an entry that does
// not fail any more.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const [client, modules] = process.argv.slice(2).map((given) => path.resolve(given));
const SUITE = path.join(modules, '@modelcontextprotocol/conformance/dist/index.js');
/** The revisions, and of how many scenarios all checks have to pass at least. */
const REVISIONS = { '2026-07-28': 7, '2025-11-25': 4 };

/** Runs everything that a revision asks of clients; answers with its exit code and what it says. */
function suite(revision, home) {
  const expected = path.join(import.meta.dirname, 'expected.yml');
  const options = ['--command', client, '--requirements', revision, '--expected-failures', expected, '-o', home];
  const running = spawn(process.execPath, [SUITE, 'client', ...options], { cwd: home, stdio: ['ignore', 'pipe', 'ignore'] });
  let told = '';
  running.stdout.on('data', (text) => { told += text; });
  return new Promise((resolve) => { running.once('exit', (code) => resolve({ code, told })); });
}

const home = mkdtempSync(path.join(tmpdir(), 'conformance-'));
let failed = 0;
for (const [revision, least] of Object.entries(REVISIONS)) {
  const { code, told } = await suite(revision, home);
  const passed = (told.match(/^✓ [\w/-]+: [1-9]\d* passed/gm) ?? []).map((line) => line.split(/[ :]+/)[1]);
  const own = passed.filter((name) => !name.startsWith('auth/'));
  const well = code === 0 && own.length >= least;
  failed += well ? 0 : 1;
  console.log(well ? `${revision}: ${own.join(', ')}` : told);
}
rmSync(home, { recursive: true });
process.exitCode = failed ? 1 : 0;
