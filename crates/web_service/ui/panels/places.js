// Which project a panel is about, and addresses within the files panel.

import { api, chosenProject, html, overview, route, sessionAddress, sessions, withQuery } from '../core.js';

/** The name of the project: that of the session that is shown, else the chosen one, else the first. */
export function presentProject() {
  const names = (overview.value?.projects ?? []).map(({ name }) => name);
  const own = sessions.value.get(route.value.session)?.project;
  return own ?? (names.includes(chosenProject.value) ? chosenProject.value : names[0]);
}

/** Chooses a project for panels that no session decides for. */
export function chooseProject(name) {
  chosenProject.value = name;
}

/** Lets the user choose where more than one project is served and no session decides. */
export function ProjectChoice() {
  const names = (overview.value?.projects ?? []).map(({ name }) => name);
  if (names.length < 2 || sessions.value.has(route.value.session)) return null;
  return html`<label class="project-choice">Project <select value=${presentProject()}
    onChange=${(event) => chooseProject(event.target.value)}>
    ${names.map((name) => html`<option key=${name}>${name}</option>`)}</select></label>`;
}

/** An address of the files panel beside what is shown. */
export function filesAddress(query) {
  const { view, session } = route.value;
  return withQuery(view === 'session' ? sessionAddress(session, 'files') : '#/start/files', query);
}

/** What stands behind the `?` of the address. */
export function addressQuery() {
  return Object.fromEntries(new URLSearchParams(location.hash.split('?')[1] ?? ''));
}

/** The last part of a path. */
export function baseName(path) {
  return path.slice(path.lastIndexOf('/') + 1);
}

const KEPT = 12;

/** Files that were opened last, newest first: `{project, path}`. Kept in this browser. */
export function recentFiles() {
  try {
    const kept = JSON.parse(localStorage.getItem('recent-files') ?? '[]');
    return Array.isArray(kept) ? kept.filter((file) => typeof file?.path === 'string') : [];
  } catch {
    return [];
  }
}

export function noteRecentFile(project, path) {
  const others = recentFiles().filter((file) => file.path !== path || file.project !== project);
  localStorage.setItem('recent-files', JSON.stringify([{ project, path }, ...others].slice(0, KEPT)));
}

/** Where a name is defined. An import names it too, and leads on to one of the others. */
export function realDefinitions(definitions) {
  const real = definitions.filter(({ kind }) => kind !== 'import');
  return real.length ? real : definitions;
}

/** The tools of a project with their schemas. */
export async function offeredTools(project) {
  return (await api(withQuery('/tools', { project }))).tools;
}
