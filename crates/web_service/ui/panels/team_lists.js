// Lists of a team's server, and doing something about them.

import { useEffect, useState } from 'preact/hooks';
import { api, attempt } from '../core.js';

/** What a route lists, null until it is there, and a way to do something and list it again. */
export function useList(path, name) {
  const [listed, take] = useState(null);
  const list = () => attempt(async () => take((await api(path))[name]));
  useEffect(() => { list(); }, []);
  const act = async (action) => {
    const isDone = await attempt(action);
    // Also after a failure: what is shown may be what was wanted, not what is.
    await list();
    return isDone;
  };
  return [listed, act];
}

/** The users by their ids; null until they are known. */
export function useNames() {
  const [users] = useList('/people', 'users');
  return users && new Map(users.map((user) => [user.id, user]));
}
