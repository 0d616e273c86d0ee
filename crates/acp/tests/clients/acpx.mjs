// Lets `acpx`, a command line client of the Agent Client Protocol, do tasks with `toolkiln acp`: one that is approved,
// one that is denied, and one without the files of an editor.
//
// Usage: node acpx.mjs TOOLKILN NODE_MODULES

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const [program, modules] = process.argv.slice(2).map((path) => resolve(path));
const place = realpathSync(mkdtempSync(join(tmpdir(), "toolkiln-acpx-")));
const project = join(place, "project");
const file = join(project, "main.rs");
mkdirSync(project);
writeFileSync(file, "let oven = 1;\n");

/** Runs one prompt. Answers with the messages as acpx prints them. */
function prompted(text, ...options) {
  // acpx wants a newer Node than systems have.
  const node = join(modules, "node/bin/node");
  const words = [join(modules, "acpx/dist/cli.js"), "--agent", `${program} acp --provider offline`, "--cwd", project];
  const env = { PATH: process.env.PATH, HOME: place, XDG_STATE_HOME: join(place, "state") };
  const more = ["--format", "json", "--json-strict", "--timeout", "60", ...options, "exec", text];
  // It fails where something was denied.
  const { stdout } = spawnSync(node, [...words, ...more], { env, encoding: "utf8" });
  return stdout.split("\n").filter(Boolean).map((line) => JSON.parse(line));
}

const ended = (messages) => messages.some((message) => message.result?.stopReason === "end_turn");
const edit = (find, replace) => `/replace_in_file path=main.rs find=${find} replace=${replace}`;

assert(ended(prompted(edit("oven", "kiln"), "--approve-all")));
assert.equal(readFileSync(file, "utf8"), "let kiln = 1;\n");
assert(ended(prompted(edit("kiln", "stove"), "--deny-all")));
assert.equal(readFileSync(file, "utf8"), "let kiln = 1;\n");
assert(ended(prompted(edit("kiln", "stove"), "--approve-all", "--no-fs")));
assert.equal(readFileSync(file, "utf8"), "let stove = 1;\n");
assert(ended(prompted("/bash cat main.rs", "--deny-all")));
rmSync(place, { recursive: true });
console.log("acpx is content");
