// Drives `toolkiln acp` with the official TypeScript SDK, which checks every message against its own schemas: a task
// with approval, a form for the reason of a refusal, cancel and reload.
//
// Usage: node typescript_sdk.mjs TOOLKILN NODE_MODULES

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [program, modules] = process.argv.slice(2).map((path) => resolve(path));
const entry = join(modules, "@agentclientprotocol/sdk/dist/v1/stable/acp.js");
const acp = await import(pathToFileURL(entry));
const { agent: ask, client: serve } = acp.methods;

const place = realpathSync(mkdtempSync(join(tmpdir(), "toolkiln-acp-")));
const project = join(place, "project");
const file = join(project, "main.rs");
const TEXT = "fn main() {\n    let oven = 1;\n}\n";
mkdirSync(project);
writeFileSync(file, TEXT);

const answers = [];
const updates = [];
let forms = 0;
let working = () => {};

/** Runs `work` with an agent of its own. */
async function withAgent(work) {
  const child = spawn(program, ["acp", "--provider", "offline"], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { PATH: process.env.PATH, XDG_STATE_HOME: join(place, "state") },
  });
  const ended = new Promise((done) => child.on("exit", done));
  const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
  const editor = acp
    .client({ name: "test" })
    .onRequest(serve.session.requestPermission, ({ params }) => {
      const kind = answers.shift();
      const option = params.options.find((option) => option.kind === kind);
      return { outcome: { outcome: "selected", optionId: option.optionId } };
    })
    .onRequest(serve.elicitation.create, () => {
      forms += 1;
      return { action: "accept", content: { reason: "not yet" } };
    })
    .onNotification(serve.session.update, ({ params }) => {
      updates.push(params.update);
      if (params.update.status === "in_progress") working();
    });
  await editor.connectWith(stream, async (agent) => {
    const clientCapabilities = { elicitation: { form: {} }, session: { notices: {} } };
    await agent.request(ask.initialize, { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities });
    await work(agent);
  });
  child.stdin.end();
  assert.equal(await ended, 0);
}

let session;
await withAgent(async (agent) => {
  const begun = await agent.request(ask.session.new, { cwd: project, mcpServers: [] });
  session = begun.sessionId;
  assert.deepEqual(begun.configOptions.map((option) => option.id), ["mode", "model", "effort"]);
  const say = async (text) => {
    const prompt = [{ type: "text", text }];
    return (await agent.request(ask.session.prompt, { sessionId: session, prompt })).stopReason;
  };
  const edit = "/replace_in_file path=main.rs find=oven replace=kiln";
  answers.push("reject_once", "allow_once");
  assert.equal(await say(edit), "end_turn");
  assert.equal(readFileSync(file, "utf8"), TEXT);
  assert.equal(forms, 1);
  assert.equal(await say(edit), "end_turn");
  assert.equal(readFileSync(file, "utf8"), TEXT.replace("oven", "kiln"));
  const mode = { sessionId: session, modeId: "actor:workspace" };
  await agent.request(ask.session.setMode, mode);
  const begins = new Promise((done) => (working = done));
  const running = say("/bash sleep 600");
  await begins;
  await agent.notify(ask.session.cancel, { sessionId: session });
  assert.equal(await running, "cancelled");
});

updates.length = 0;
await withAgent(async (agent) => {
  const { sessions } = await agent.request(ask.session.list, { cwd: project });
  assert.deepEqual(sessions.map((info) => info.sessionId), [session]);
  await agent.request(ask.session.load, { sessionId: session, cwd: project, mcpServers: [] });
  // The SDK handles notifications one after the other, and beside the answer that follows them.
  const isLast = (update) => update.sessionUpdate === "available_commands_update";
  while (!updates.some(isLast)) await new Promise((done) => setImmediate(done));
  const count = (kind) => updates.filter((update) => update.sessionUpdate === kind).length;
  assert.deepEqual([count("user_message_chunk"), count("tool_call")], [3, 3]);
  await agent.request(ask.session.delete, { sessionId: session });
});
rmSync(place, { recursive: true });
console.log("the TypeScript SDK is content");
