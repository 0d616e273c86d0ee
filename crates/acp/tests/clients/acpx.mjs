// Lets `acpx`, a command line client of the Agent Client Protocol, do tasks with `toolkiln acp`: one that is approved,
// one that is denied, and one without the files of an editor; then a session that goes on after both programs were
// killed, and a command that is cancelled.
//
// Usage: node acpx.mjs TOOLKILN NODE_MODULES

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const [program, modules] = process.argv.slice(2).map((path) => resolve(path));
const place = realpathSync(mkdtempSync(join(tmpdir(), "toolkiln-acpx-")));
const project = join(place, "project");
const file = join(project, "main.rs");
mkdirSync(project);
writeFileSync(file, "let oven = 1;\n");

// acpx wants a newer Node than systems have.
const node = join(modules, "node/bin/node");
const env = { PATH: process.env.PATH, HOME: place, XDG_STATE_HOME: join(place, "state") };

/** The words of a command line of acpx. */
function words(...more) {
  const agent = ["--agent", `${program} acp --provider offline`, "--cwd", project];
  return [join(modules, "acpx/dist/cli.js"), ...agent, "--format", "json", "--json-strict", "--timeout", "60", ...more];
}

const messages = (printed) => printed.split("\n").filter(Boolean).map((line) => JSON.parse(line));

/** Runs a command. Answers with the messages as acpx prints them. It fails where something was denied. */
const acpx = (...more) => messages(spawnSync(node, words(...more), { env, encoding: "utf8" }).stdout);

/** Runs one prompt in a session of its own. */
const prompted = (text, ...options) => acpx(...options, "exec", text);

/** Runs one prompt in the session that is kept. */
const said = (text) => acpx("--approve-all", "prompt", text);

/** Begins a command that does not end, and cancels it once it runs. Answers with all messages. */
function cancelled(command) {
  return new Promise((answer) => {
    const running = spawn(node, words("--approve-all", "prompt", `/bash ${command}`), { env });
    let printed = "";
    let asked = false;
    running.stdout.setEncoding("utf8").on("data", (text) => {
      printed += text;
      if (!asked && printed.includes('"in_progress"')) {
        asked = true;
        assert(acpx("cancel")[0].cancelled);
      }
    });
    running.on("close", () => answer(messages(printed)));
  });
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

acpx("sessions", "new");
assert(ended(said(edit("stove", "oven"))));
const { pid } = acpx("status")[0];
spawnSync("pkill", ["-KILL", "-P", `${pid}`]);
process.kill(pid, "SIGKILL");
const again = said(edit("oven", "kiln"));
assert(again.some(({ method }) => ["session/load", "session/resume"].includes(method)));
assert(ended(again));
assert.equal(readFileSync(file, "utf8"), "let kiln = 1;\n");

const stopped = await cancelled("sleep 600.25");
assert.equal(stopped.at(-1).result.stopReason, "cancelled");
assert.notEqual(spawnSync("pgrep", ["-f", "sleep 600.25"]).status, 0, "the command is gone when the turn is");
acpx("sessions", "close");
rmSync(place, { recursive: true });
console.log("acpx is content");
