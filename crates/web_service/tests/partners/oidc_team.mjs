// `oidc-provider`, a certified identity provider of others, with two clients that are known beforehand.
//
//     node oidc_team.mjs MODULES REDIRECT     prints `ready ISSUER`, and serves until its standard input ends

import { createServer } from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { once } from "node:events";

const [modules, redirect] = process.argv.slice(2);
const require = createRequire(`${modules}/x.js`);
const { Provider } = await import(pathToFileURL(require.resolve("oidc-provider")).href);

const server = createServer((request, response) => provider.callback()(request, response));
server.listen(0, "127.0.0.1");
await once(server, "listening");
const issuer = `http://127.0.0.1:${server.address().port}`;

const client = { redirect_uris: [redirect], grant_types: ["authorization_code"], response_types: ["code"] };
const provider = new Provider(issuer, {
  clients: [
    { ...client, client_id: "public", token_endpoint_auth_method: "none" },
    { ...client, client_id: "confidential", client_secret: "a secret: of + the/client" },
  ],
  claims: { openid: ["sub"], email: ["email"], profile: ["name"] },
  features: { devInteractions: { enabled: true } },
  pkce: { required: () => true },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, name: "Ada", email: "ada@example.org" }) }),
  cookies: { keys: ["test"] },
});

console.log(`ready ${issuer}`);
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
