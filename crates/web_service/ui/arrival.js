// Coming to the page with something to show: the code of a link, or what an identity provider answers.

import { api } from './core.js';

/** Invitations begin so. They need a name, or a login at the provider. */
const INVITATION = 'tki_';

/** The invitation that led here. */
export const invitation = { code: '' };

/** Logs in by what stands in the address, which is not kept in the history: it is good once. */
export async function arrive() {
  const code = new URLSearchParams(location.hash.slice(1)).get('code');
  const answer = new URLSearchParams(location.search);
  const isAnswer = answer.has('state');
  if (code || isAnswer) history.replaceState(null, '', '/');
  if (isAnswer) {
    if (answer.has('error')) throw new Error(answer.get('error_description') ?? 'The login was refused.');
    const [shown, state, iss] = ['code', 'state', 'iss'].map((name) => answer.get(name) ?? undefined);
    await api('/login/oidc/finish', { body: { code: shown, state, iss } });
  } else if (code?.startsWith(INVITATION)) {
    invitation.code = code;
  } else if (code) {
    await api('/login', { body: { code } });
  }
}

/** How one logs in here. */
export const loginWays = () => api('/login');

/** Goes to the identity provider, which sends the browser back here. */
export async function logInAtProvider() {
  const body = invitation.code ? { invitation: invitation.code } : {};
  const { url } = await api('/login/oidc', { body });
  location.assign(url);
}
