// A server over HTTP that wants a login at `oidc-provider`, a certified authorization server of others.
//
//     node oidc.mjs MODULES     prints `ready URL`, and serves until its standard input ends
//
// The provider demands PKCE, knows resources (RFC 8707), registers clients, rotates refresh tokens and lets access
// tokens expire after a few seconds.

import { createServer } from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { once } from "node:events";

const modules = process.argv[2];
const require = createRequire(`${modules}/x.js`);
const { Provider } = await import(pathToFileURL(require.resolve("oidc-provider")).href);
const LIFETIME = 40; // seconds: above the time before its end at which a token is renewed

async function listening(server) {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${server.address().port}`;
}

const authorization = createServer((request, response) => provider.callback()(request, response));
const issuer = await listening(authorization);
const tools = createServer((request, response) => served(request, response));
const origin = await listening(tools);
const resource = `${origin}/mcp`;

const provider = new Provider(issuer, {
  scopes: ["openid", "offline_access", "read"],
  features: {
    devInteractions: { enabled: true },
    registration: { enabled: true },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => resource,
      useGrantedResource: () => true,
      getResourceServerInfo: (_, asked) => {
        if (asked !== resource) throw new Error(`unknown resource ${asked}`);
        return { scope: "read", audience: resource, accessTokenFormat: "opaque", accessTokenTTL: LIFETIME };
      },
    },
  },
  pkce: { required: () => true },
  rotateRefreshToken: true,
  issueRefreshToken: async (_, client, code) =>
    client.grantTypeAllowed("refresh_token") && code.scopes.has("offline_access"),
  cookies: { keys: ["test"] },
});

const refused = new Set();

async function admitted(request) {
  const token = (request.headers.authorization ?? "").replace(/^Bearer /, "");
  if (!token || refused.has(token)) return false;
  const found = await provider.AccessToken.find(token);
  return Boolean(found && !found.isExpired && found.aud === resource && found.scopes.has("read"));
}

async function served(request, response) {
  let body = "";
  for await (const piece of request) body += piece;
  const json = (status, value, headers = {}) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(value));
  };
  if (request.url === "/.well-known/oauth-protected-resource/mcp") {
    return json(200, { resource, authorization_servers: [issuer], scopes_supported: ["read"] });
  }
  if (request.url === "/refuse-tokens") {
    // From here on, every token that was shown before counts for nothing.
    for (const token of shown) refused.add(token);
    return json(200, {});
  }
  if (request.url !== "/mcp") return json(404, {});
  if (!(await admitted(request))) {
    const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`;
    return json(401, {}, { "www-authenticate": `Bearer resource_metadata="${metadata}"` });
  }
  shown.add(request.headers.authorization.replace(/^Bearer /, ""));
  const { id, method } = JSON.parse(body || "{}");
  const answers = {
    initialize: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "o", version: "1" } },
    "tools/list": { tools: [{ name: "test-tool", inputSchema: { type: "object" } }] },
    "tools/call": { content: [{ type: "text", text: "inside" }] },
  };
  if (id === undefined) return json(202, {});
  const result = answers[method];
  json(200, { jsonrpc: "2.0", id, ...(result ? { result } : { error: { code: -32601, message: "unknown" } }) });
}

const shown = new Set();
console.log(`ready ${resource}`);
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
