// Drives `BINARY mcp`, over standard streams and over HTTP, with the official TypeScript SDK or the command line of the MCP Inspector.
//
// Usage: node typescript_sdk.mjs BINARY MODULES sdk|inspector
//
// MODULES is the `node_modules` that it is installed in. Each check prints one line; the exit code
// is 1 if any failed.

import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const which = process.argv[4];
if (process.argv.length !== 5 || !["sdk", "inspector"].includes(which)) {
  console.error("Usage: node typescript_sdk.mjs BINARY MODULES sdk|inspector");
  process.exit(2);
}
const [binary, modules] = process.argv.slice(2, 4).map((path) => resolve(path));
const installed = createRequire(join(modules, "any.js"));
const sdk = (name) => import(pathToFileURL(installed.resolve(`@modelcontextprotocol/sdk/${name}.js`)));
const parts = which === "sdk" ? ["client/index", "client/stdio", "client/streamableHttp", "types"] : [];
const { Client, StdioClientTransport, StreamableHTTPClientTransport, ElicitRequestSchema, ResourceUpdatedNotificationSchema } =
  Object.assign({}, ...await Promise.all(parts.map(sdk)));

const counts = { passed: 0, failed: 0 };
const check = (name, holds, shown) => {
  counts[holds ? "passed" : "failed"] += 1;
  console.log(holds ? `ok      ${name}` : `FAILED  ${name}  ${JSON.stringify(shown)}`);
};

const directory = realpathSync(mkdtempSync(join(tmpdir(), "toolkiln-")));
const root = join(directory, "project");
mkdirSync(join(root, "src"), { recursive: true });
writeFileSync(join(root, "README.md"), "# A project\n");
writeFileSync(join(root, "src/main.rs"), "fn main() {\n    hello();\n}\n");
writeFileSync(join(root, "notes.txt"), "one\n");
const notes = () => readFileSync(join(root, "notes.txt"), "utf8");

// The user's own rules must not decide, nor the journal end up among the user's files.
const homes = { XDG_CONFIG_HOME: join(directory, "config"), XDG_STATE_HOME: join(directory, "state") };
const started = (...flags) => ["mcp", "--root", root, ...flags];

async function connected(flags, capabilities, work) {
  const client = new Client({ name: "interop", version: "1.0.0" }, { capabilities });
  const env = { ...process.env, ...homes };
  await client.connect(new StdioClientTransport({ command: binary, args: started(...flags), env }));
  try {
    await work(client);
  } finally {
    await client.close();
  }
}

/** A server over HTTP: its address, and the header by which a client with this token is known. */
async function overHttp(flags, token, work) {
  const args = started("--http", "--port", "0", ...flags);
  const server = spawn(binary, args, { env: { ...process.env, ...homes }, stdio: ["ignore", "pipe", "ignore"] });
  try {
    const url = await new Promise((resolve, reject) => {
      server.stdout.once("data", (line) => resolve(String(line).trim()));
      server.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
    });
    const secrets = JSON.parse(readFileSync(join(homes.XDG_STATE_HOME, "toolkiln/web/secrets.json"), "utf8"));
    await work(url, `Bearer ${secrets[token]}`);
  } finally {
    server.kill();
  }
}

const connectedByHttp = (flags, token, capabilities, work) => overHttp(flags, token, async (url, authorization) => {
  const client = new Client({ name: "interop", version: "1.0.0" }, { capabilities });
  const requestInit = { headers: { Authorization: authorization } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  try {
    await work(client);
  } finally {
    await client.close();
  }
});

// The SDK compiles each output schema and checks every structured answer against it.
const CALLS = [
  ["read_file", { path: "README.md" }, "A project"],
  ["read", { file_paths: ["README.md", "src/main.rs"] }, "fn main"],
  ["grep", { pattern: "fn main" }, "src/main.rs"],
  ["glob", { pattern: "**/*.rs" }, "src/main.rs"],
  ["list_directory", {}, "README.md"],
  ["search", { query: "hello" }, "src/main.rs"],
  ["outline", { path: "src/main.rs" }, "main"],
  ["find_definition", { symbol: "main" }, "src/main.rs"],
  ["find_references", { symbol: "hello" }, "src/main.rs"],
  ["find_importers", { target: "src/main.rs" }, ""],
  ["job", { action: "list" }, ""],
  ["append_file", { path: "notes.txt", content: "two\n" }, "notes.txt"],
  ["undo", {}, "notes.txt"],
  ["redo", {}, "notes.txt"],
  ["bash", { command: "cat notes.txt" }, "two"],
];

async function calls(client) {
  const { tools } = await client.listTools();
  check("the server lists tools", tools.length > 20, tools.length);
  for (const [name, args, expected] of CALLS) {
    const result = await client.callTool({ name, arguments: args });
    check(`${name} answers`, !result.isError && JSON.stringify(result).includes(expected), result);
  }
  const failed = await client.callTool({ name: "read_file", arguments: { path: "missing.txt" } });
  check("a failure is said in words", failed.isError && failed.content[0].text.includes("missing.txt"), failed);
  const many = Array.from({ length: 50 }, () =>
    client.callTool({ name: "read_file", arguments: { path: "README.md" } }),
  );
  const results = await Promise.all(many);
  check("50 calls at once", results.every((result) => !result.isError));
  const stopper = new AbortController();
  const slow = client.callTool({ name: "bash", arguments: { command: "sleep 600" } }, undefined, {
    signal: stopper.signal,
  });
  stopper.abort();
  check("a cancelled call ends", await slow.then(() => false, () => true));
  await client.ping();
  check("the server answers after that", true);
}

/** A file that another program changes is heard of. */
async function watching(client) {
  const uri = pathToFileURL(join(root, "notes.txt")).href;
  const heard = new Promise((resolve) => {
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => resolve(params.uri));
  });
  await client.subscribeResource({ uri });
  writeFileSync(join(root, "notes.txt"), "by another program\n");
  check("a watched file is heard of", await heard === uri, uri);
  await client.unsubscribeResource({ uri });
}

async function questions(client) {
  const answers = [
    { action: "accept", content: { decision: "once" } },
    { action: "accept", content: { decision: "deny", note: "say it in German" } },
  ];
  const forms = [];
  client.setRequestHandler(ElicitRequestSchema, (request) => {
    forms.push(request.params.message);
    return answers[forms.length - 1];
  });
  const append = (content) => client.callTool({ name: "append_file", arguments: { path: "notes.txt", content } });
  writeFileSync(join(root, "notes.txt"), "one\n");
  const made = await append("two\n");
  check("an accepted change is made", !made.isError && notes() === "one\ntwo\n", made);
  check("the form shows the diff", forms[0]?.includes("+two"), forms);
  const refused = await append("three\n");
  const told = refused.isError && refused.content[0].text.includes("say it in German");
  check("the model is told the reason", told && notes() === "one\ntwo\n", refused);
}

function inspected(server, words) {
  const launcher = join(modules, ".bin", "mcp-inspector");
  const command = ["--cli", ...server, ...words];
  const ran = spawnSync(launcher, command, { env: { ...process.env, ...homes }, encoding: "utf8" });
  if (ran.status !== 0) throw new Error(`${words.join(" ")}: ${ran.error ?? ran.stderr}`);
  return { told: JSON.parse(ran.stdout), warned: ran.stderr };
}

function inspector(server) {
  const { told, warned } = inspected(server, ["--method", "tools/list"]);
  check("the inspector lists tools", told.tools.length > 20, told.tools.length);
  check("the inspector finds the schemas portable", !warned.includes("Schema portability"), warned);
  const call = ["--method", "tools/call", "--tool-name", "read_file", "--tool-arg", "path=README.md"];
  const result = inspected(server, call).told;
  check("the inspector calls a tool", !result.isError && result.content[0].text.includes("A project"), result);
}

const withSdk = [
  ["calls", () => connected(["--yes"], {}, calls)],
  ["watching", () => connected(["--yes"], {}, watching)],
  ["watching over HTTP", () => connectedByHttp(["--yes"], "mcp", {}, watching)],
  ["questions", () => connected([], { elicitation: {} }, questions)],
  ["calls over HTTP", () => connectedByHttp(["--yes"], "mcp", {}, calls)],
  // The form counts, since this token may approve; that of agents may not.
  ["questions over HTTP", () => connectedByHttp([], "all", { elicitation: {} }, questions)],
];
const withInspector = [
  ["inspector", () => inspector([binary, ...started("--yes")])],
  ["inspector over HTTP", () => overHttp(["--yes"], "mcp", (url, authorization) => {
    inspector([url, "--transport", "http", "--header", `Authorization: ${authorization}`]);
  })],
];
for (const [name, run] of which === "sdk" ? withSdk : withInspector) {
  try {
    await run();
  } catch (error) {
    check(`the run "${name}" ends well`, false, String(error));
  }
}
rmSync(directory, { recursive: true });
console.log(`${counts.passed} passed, ${counts.failed} failed`);
process.exit(counts.failed ? 1 : 0);
