// A command, a request to a web server or a call of a foreign tool before it runs: all of it, in the words of the
// proposal itself.

import { html } from '../core.js';
import { pieces, rawLine } from '../diff_lines.js';

const PROJECT = {
  copy: 'A copy of the project. What it changes there is asked about afterwards.',
  look: 'A copy of the project that is thrown away.',
  live: 'The project itself, which it can read and not write.',
  direct: 'The files themselves. There is no copy: what it changes is changed.',
};

/** Text line by line, with what cannot be seen drawn apart. */
function Exact({ text }) {
  const drawn = (line) => pieces({ line: rawLine(line) }).map(({ text: part, kind }) => (
    kind ? html`<span class="s-${kind}" title="A character that cannot be seen">${part}</span>` : part));
  return text.split('\n').map((line, index) => [index > 0 && '\n', drawn(line)]);
}

function Fact({ name, children }) {
  return html`<dt>${name}</dt><dd>${children}</dd>`;
}

const quoted = (word) => (/^[\w\-./=:,@%+]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** What a shell is given, or program and arguments with quotes where they need them. */
function commandLine(words) {
  const [shell, flag, script] = words;
  if (words.length === 3 && (shell === 'bash' || shell === 'sh') && flag === '-c') return script;
  return words.map(quoted).join(' ');
}

function seconds(ms) {
  return ms < 120_000 ? `${Math.round(ms / 1_000)} seconds` : `${Math.round(ms / 60_000)} minutes`;
}

export default function Effect({ whole }) {
  const { proposal } = whole;
  if (proposal.kind === 'web') return html`<${Web} web=${proposal} />`;
  if (proposal.kind === 'foreign') return html`<${Foreign} call=${proposal} />`;
  return html`<${Command} command=${proposal} />`;
}

function Command({ command }) {
  const {
    shown, argv, first = [], working_dir: place, env = {}, stdin, timeout_ms: limit, network, project, run,
    writable = [], keep = [],
  } = command;
  const programs = [...first, argv].map(commandLine).join('\n');
  const job = run?.tell ?? run?.stop;
  return html`<div class="effect">
    ${shown ? html`<h3>What it does</h3><pre><${Exact} text=${shown.trimEnd()} /></pre>
      <details><summary>The programs that are run</summary><pre><${Exact} text=${programs} /></pre></details>`
      : html`<h3>${run?.stop ? 'Ends a job' : run?.tell ? 'Tells a job' : 'Runs'}</h3>
        <pre class="command"><${Exact} text=${programs} /></pre>`}
    ${stdin && html`<h3>Its input</h3><pre><${Exact} text=${stdin} /></pre>`}
    <dl>
      <${Fact} name="Where">${!place || place === '.' ? 'In the directory of the project'
        : html`In <code><${Exact} text=${place} /></code>`}<//>
      <${Fact} name="Files">${PROJECT[project] ?? PROJECT.copy}<//>
      <${Fact} name="Network">${network ? html`<b class="warning">It can reach the network</b>` : 'None'}<//>
      ${job && html`<${Fact} name="Job"><code><${Exact} text=${job} /></code><//>`}
      ${run === 'job' && html`<${Fact} name="Job">It goes on in the background until the session ends<//>`}
      ${Object.keys(env).length > 0 && html`<${Fact} name="Variables"><pre><${Exact}
        text=${Object.entries(env).map(([name, value]) => `${name}=${value}`).join('\n')} /></pre><//>`}
      ${writable.length > 0 && html`<${Fact} name="May change">
        <code><${Exact} text=${writable.join(', ')} /></code><//>`}
      ${keep.length > 0 && html`<${Fact} name="Keeps"><code><${Exact} text=${keep.join(', ')} /></code><//>`}
      ${limit > 0 && html`<${Fact} name="Limit">${seconds(limit)}<//>`}
    </dl>
  </div>`;
}

function Web({ web }) {
  const { method, url, headers = {}, body, timeout_ms: limit, search, unnamed } = web;
  return html`<div class="effect">
    ${unnamed && html`<p><b class="warning">The model made this address up: neither you nor an earlier result
      named it.</b></p>`}
    <h3>Sends</h3><pre class="command"><${Exact} text=${`${method} ${url}`} /></pre>
    ${body && html`<h3>With this body</h3><pre><${Exact} text=${body} /></pre>`}
    <dl>
      ${Object.keys(headers).length > 0 && html`<${Fact} name="Headers"><pre><${Exact}
        text=${Object.entries(headers).map(([name, value]) => `${name}: ${value}`).join('\n')} /></pre><//>`}
      ${search && html`<${Fact} name="Key">The configured one of <${Exact} text=${search} /><//>`}
      ${limit > 0 && html`<${Fact} name="Limit">${seconds(limit)}<//>`}
    </dl>
  </div>`;
}

function Foreign({ call }) {
  const {
    server, tool, arguments: given = {}, network, destructive, unapproved, asks, timeout_ms: limit,
  } = call;
  const values = Object.entries(given).map(([name, value]) => `${name}: ${JSON.stringify(value)}`).join('\n');
  return html`<div class="effect">
    ${asks ? html`<h3>The MCP server asks, while its tool runs</h3><pre><${Exact} text=${asks} /></pre>
      <h3>A yes sends this answer</h3>` : html`<h3>Calls a tool of an MCP server with</h3>`}
    <pre class="command"><${Exact} text=${values || '(nothing)'} /></pre>
    <dl>
      <${Fact} name="Server"><code><${Exact} text=${server} /></code><//>
      <${Fact} name="Tool"><code><${Exact} text=${tool} /></code><//>
      <${Fact} name="Network">${network ? html`<b class="warning">It can reach the network</b>` : 'None'}<//>
      ${destructive && html`<${Fact} name="Effect"><b class="warning">The server says that this may destroy
        something</b><//>`}
      ${limit > 0 && html`<${Fact} name="Limit">${seconds(limit)}<//>`}
    </dl>
    ${unapproved && html`<h3>You have not approved what the server says about this tool</h3>
      <pre><${Exact} text=${unapproved.trimEnd()} /></pre>`}
  </div>`;
}
