// A form made from a JSON schema. It edits a plain value; what is left empty is left out of it.

import { useId, useState } from 'preact/hooks';
import { html } from '../core.js';

/** Names whose texts usually have several lines. */
const TALL = new Set([
  'code', 'command', 'content', 'expected', 'find', 'input', 'message', 'patch', 'prompt', 'replace', 'search', 'text',
]);

/** One of the kinds of fields that the form knows; `json` for whatever else a schema may say. */
export function kindOf(schema) {
  if (Array.isArray(schema.enum)) return 'choice';
  const types = [schema.type].flat().filter((type) => type !== 'null');
  if (types.length !== 1) return 'json';
  const [type] = types;
  if (type === 'object') return schema.properties ? 'object' : 'map';
  const hasOneKind = schema.items && typeof schema.items === 'object' && !Array.isArray(schema.items);
  if (type === 'array') return hasOneKind ? 'list' : 'json';
  return ['string', 'integer', 'number', 'boolean'].includes(type) ? type : 'json';
}

/** What a new element of a list begins with. */
function beginning(schema) {
  const kind = kindOf(schema);
  const number = schema.minimum ?? 0;
  const choice = schema.enum?.[0];
  const all = { string: '', object: {}, map: {}, list: [], boolean: false, choice, integer: number, number };
  return all[kind] ?? null;
}

/** The object with a field set, or without it. */
function withField(value, name, next) {
  const { [name]: _, ...others } = value;
  // Set in place where it was, so that fields keep their order in the JSON.
  if (next === undefined) return others;
  return { ...value, [name]: next };
}

const FIELDS = {
  string: TextField, choice: ChoiceField, integer: NumberField, number: NumberField, boolean: FlagField,
  object: ObjectField, map: MapField, list: ListField, json: JsonField,
};

/** Optional fields that are worth no fold. */
const FEW = 3;

/** The fields of an object schema, required ones first. With `folds`, many optional ones are behind a line. */
export function SchemaFields({ schema, value, change, folds = false }) {
  const required = new Set(schema.required ?? []);
  const names = Object.keys(schema.properties ?? {});
  const field = (name) => html`<${Field} key=${name} name=${name} schema=${schema.properties[name]}
    isRequired=${required.has(name)}
    value=${value?.[name]} change=${(next) => change(withField(value ?? {}, name, next))} />`;
  const optional = names.filter((name) => !required.has(name));
  const [isOpen] = useState(() => optional.some((name) => value?.[name] !== undefined));
  if (names.length === 0) return html`<p class="empty">It takes no arguments.</p>`;
  const first = names.filter((name) => required.has(name)).map(field);
  if (!folds || optional.length <= FEW) return [...first, ...optional.map(field)];
  return [...first, html`<details key="optional" class="optional" open=${isOpen}>
    <summary>${optional.length} optional: ${optional.join(', ')}</summary>
    <div class="field-grid">${optional.map(field)}</div></details>`];
}

function Field(given) {
  const Kind = FIELDS[kindOf(given.schema)];
  return html`<${Kind} ...${given} />`;
}

/** A label with what the schema says beside it. */
function Head({ id, name, schema, isRequired }) {
  return html`<span class="field-head"><label for=${id}>${name}${isRequired && html`<span class="required"
    title="required"> required</span>`}</label>
    <${Hint} id=${id} schema=${schema} /></span>`;
}

function hintsOf(schema) {
  return [
    schema.description,
    schema.default !== undefined && `default ${JSON.stringify(schema.default)}`,
    schema.minimum > 0 && `at least ${schema.minimum}`,
    schema.maximum !== undefined && `at most ${schema.maximum}`,
  ].filter(Boolean);
}

function Hint({ id, schema }) {
  const hints = hintsOf(schema);
  return hints.length > 0 && html`<small id=${`${id}-hint`}>${hints.join(' · ')}</small>`;
}

function hinted(id, schema) {
  return hintsOf(schema).length > 0 ? `${id}-hint` : undefined;
}

function TextField({ name, schema, isRequired, isElement, value, change }) {
  const id = useId();
  // An empty text is a value where one is needed, and nothing where it is not.
  const typed = (event) => change(event.target.value === '' && !isRequired ? undefined : event.target.value);
  const shared = {
    id, value: value ?? '', onInput: typed, spellcheck: false, autocomplete: 'off',
    'aria-required': isRequired, 'aria-describedby': hinted(id, schema),
  };
  return html`<div class="field"><${Head} id=${id} name=${name} schema=${schema}
    isRequired=${isRequired && !isElement} />
    ${TALL.has(name) ? html`<textarea rows=${Math.min(12, Math.max(2, String(value ?? '').split('\n').length))}
      ...${shared}></textarea>` : html`<input type="text" ...${shared} />`}</div>`;
}

function NumberField({ name, schema, isRequired, value, change }) {
  const id = useId();
  const typed = (event) => change(event.target.value === '' ? undefined : Number(event.target.value));
  return html`<div class="field short"><${Head} id=${id} name=${name} schema=${schema} isRequired=${isRequired} />
    <input id=${id} type="number" step=${kindOf(schema) === 'integer' ? 1 : 'any'} min=${schema.minimum}
      max=${schema.maximum} value=${value ?? ''}
      aria-required=${isRequired} aria-describedby=${hinted(id, schema)}
      placeholder=${schema.default ?? ''} onInput=${typed} /></div>`;
}

function FlagField({ name, schema, isRequired, value, change }) {
  const id = useId();
  const usual = schema.default ?? false;
  const turned = (event) => change(event.target.checked === usual && !isRequired ? undefined : event.target.checked);
  return html`<div class="field flag"><input id=${id} type="checkbox" checked=${value ?? usual}
    aria-describedby=${hinted(id, schema)} onChange=${turned} />
    <${Head} id=${id} name=${name} schema=${schema} isRequired=${false} /></div>`;
}

function ChoiceField({ name, schema, isRequired, value, change }) {
  const id = useId();
  const index = schema.enum.indexOf(value);
  const picked = (event) => change(event.target.value === '' ? undefined : schema.enum[Number(event.target.value)]);
  return html`<div class="field short"><${Head} id=${id} name=${name} schema=${schema} isRequired=${isRequired} />
    <select id=${id} value=${index < 0 ? '' : String(index)} aria-required=${isRequired}
      aria-describedby=${hinted(id, schema)} onChange=${picked}>
      <option value="">${isRequired ? 'Choose…' : '(left out)'}</option>
      ${schema.enum.map((choice, at) => html`<option key=${at} value=${String(at)}>${String(choice)}</option>`)}
    </select></div>`;
}

function Group({ name, schema, isRequired, isElement, children }) {
  const id = useId();
  return html`<fieldset class="field group" aria-describedby=${hinted(id, schema)}>
    <legend>${name}${isRequired && !isElement && html`<span class="required"> required</span>`}</legend><${Hint}
      id=${id} schema=${schema} />${children}</fieldset>`;
}

function ObjectField({ name, schema, isRequired, isElement, value, change }) {
  const taken = (next) => change(Object.keys(next).length === 0 && !isRequired ? undefined : next);
  return html`<${Group} name=${name} schema=${schema} isRequired=${isRequired} isElement=${isElement}><${SchemaFields}
    schema=${schema} value=${value} change=${taken} /></>`;
}

function ListField({ name, schema, isRequired, value, change }) {
  const elements = Array.isArray(value) ? value : [];
  const taken = (next) => change(next.length === 0 && !isRequired ? undefined : next);
  const replaced = (index) => (next = beginning(schema.items)) => {
    taken(elements.map((old, at) => (at === index ? next : old)));
  };
  return html`<${Group} name=${name} schema=${schema} isRequired=${isRequired}>
    ${elements.map((element, index) => html`<div key=${index} class="element">
      <${Field} name=${`${name} ${index + 1}`} schema=${schema.items} isRequired=${true} isElement=${true}
        value=${element} change=${replaced(index)} />
      <button type="button" class="icon" aria-label=${`Remove ${name} ${index + 1}`}
        onClick=${() => taken(elements.filter((_, at) => at !== index))}>×</button>
    </div>`)}
    <button type="button" class="quiet small"
      onClick=${() => taken([...elements, beginning(schema.items)])}>Add to ${name}</button>
  </>`;
}

function MapField({ name, schema, isRequired, value, change }) {
  const [fresh, type] = useState('');
  const entries = Object.entries(value ?? {});
  const inner = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : {};
  const taken = (next) => change(Object.keys(next).length === 0 && !isRequired ? undefined : next);
  const add = () => {
    if (fresh) taken({ ...value, [fresh]: beginning(inner) });
    type('');
  };
  return html`<${Group} name=${name} schema=${schema} isRequired=${isRequired}>
    ${entries.map(([key, own]) => html`<div key=${key} class="element">
      <${Field} name=${key} schema=${inner} isRequired=${true} isElement=${true} value=${own}
        change=${(next) => taken({ ...value, [key]: next })} />
      <button type="button" class="icon" aria-label=${`Remove ${key}`}
        onClick=${() => taken(withField(value, key, undefined))}>×</button></div>`)}
    <span class="adding"><input type="text" aria-label=${`New name in ${name}`} value=${fresh}
      onInput=${(event) => type(event.target.value)} />
      <button type="button" class="quiet small" disabled=${!fresh} onClick=${add}>Add to ${name}</button></span>
  </>`;
}

/** Whatever a schema says that no other field can show. */
function JsonField({ name, schema, isRequired, value, change }) {
  const id = useId();
  const [text, type] = useState(value === undefined ? '' : JSON.stringify(value, null, 2));
  const [problem, complain] = useState('');
  const typed = (event) => {
    type(event.target.value);
    try {
      change(event.target.value.trim() === '' ? undefined : JSON.parse(event.target.value));
      complain('');
    } catch (error) {
      complain(`Not valid JSON: ${error.message}`);
    }
  };
  return html`<div class="field"><${Head} id=${id} name=${`${name} (JSON)`} schema=${schema} isRequired=${isRequired} />
    <textarea id=${id} rows="3" value=${text} aria-required=${isRequired} aria-invalid=${!!problem} spellcheck=${false}
      onInput=${typed}></textarea>
    ${problem && html`<p class="notice error" role="alert">${problem}</p>`}</div>`;
}
