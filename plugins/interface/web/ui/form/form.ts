/** A form from a JSON Schema. It is never the judge of a value: the Core is, and what it says is shown at the field (`errors`). */
import { html } from 'htm/preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { numberText } from '../core/format.ts';
import { sheet } from '../parts/ask.ts';
import { Button } from '../parts/button.ts';
import { SelectField, TextField, ToggleField } from '../parts/field.ts';
import { type FieldError, share } from './errors.ts';
import {
  type Control,
  controlOf,
  isObject,
  isSecret,
  type Member,
  resolved,
  type Schema,
  same,
  shownAs,
  startOf,
  typed,
  withItem,
  withMember,
} from './schema.ts';
import { words } from './text.ts';

export interface FormProps {
  readonly schema: Schema;
  /** `undefined`: nothing was given yet. */
  readonly value: unknown;
  /** `whole` is false while a field holds a text that is no value, so there is nothing to send yet. */
  readonly onChange: (value: unknown, whole: boolean) => void;
  readonly errors?: readonly FieldError[];
  /** Label of a value that is one field as a whole. Otherwise the title of the schema. */
  readonly label?: string;
  /** The label is for screen readers alone. */
  readonly quiet?: boolean;
  readonly disabled?: boolean;
}

interface FieldProps {
  readonly schema: Schema;
  readonly value: unknown;
  readonly label: string;
  readonly quiet: boolean;
  readonly required: boolean;
  readonly depth: number;
  readonly at: string;
  readonly errors: readonly FieldError[];
  readonly all: Shared;
  readonly onChange: (value: unknown) => void;
}

/** Props that every field of a form shares. */
interface Shared {
  readonly root: Schema;
  readonly disabled: boolean;
  /** Says that the text of a field is no value, or is one again. */
  readonly fault: (at: string, there: boolean) => void;
}

const NONE: readonly FieldError[] = [];

export function Form(props: FormProps) {
  sheet('form/form.css');
  const faults = useRef(new Set<string>());
  const latest = useRef(props);
  latest.current = props;
  const all: Shared = {
    root: props.schema,
    disabled: props.disabled ?? false,
    fault(at, there) {
      const before = faults.current.size;
      if (there) faults.current.add(at);
      else faults.current.delete(at);
      const { value, onChange } = latest.current;
      if ((before === 0) !== (faults.current.size === 0)) onChange(value, faults.current.size === 0);
    },
  };
  const own = resolved(props.schema, props.schema);
  const label = props.label ?? (typeof own.title === 'string' ? own.title : words('value'));
  return html`<${Field} schema=${props.schema} value=${props.value} label=${label} quiet=${props.quiet ?? false} required=${true} depth=${0} at="" errors=${props.errors ?? NONE} all=${all} onChange=${(value: unknown) => props.onChange(value, faults.current.size === 0)} />`;
}

function Field(props: FieldProps) {
  const control = controlOf(props.schema, props.all.root, props.value, props.depth);
  if (control.kind === 'group') return html`<${Group} ...${props} control=${control} />`;
  if (control.kind === 'list') return html`<${List} ...${props} control=${control} />`;
  const own = resolved(props.schema, props.all.root);
  const common = {
    label: props.label,
    quiet: props.quiet,
    disabled: props.all.disabled,
    hint: hintOf(own, control, props),
    error: messages(props.errors),
  };
  if (control.kind === 'choice') return choice(props, control, common);
  if (control.kind === 'switch') return onOff(props, own, common);
  return html`<${Typed} ...${props} key=${control.kind} control=${control} common=${common} />`;
}

type Common = Readonly<Record<'label' | 'hint' | 'error' | 'disabled' | 'quiet', unknown>>;

function choice({ value, required, onChange }: FieldProps, control: Control & { kind: 'choice' }, common: Common) {
  const at = control.options.findIndex((option) => same(option.value, value));
  const options = control.options.map(({ label }, index) => [String(index), label] as const);
  const all = required && at >= 0 ? options : [['', words('notSet')] as const, ...options];
  const chosen = (index: string) => onChange(index === '' ? undefined : control.options[Number(index)]?.value);
  return html`<${SelectField} ...${common} value=${at < 0 ? '' : String(at)} options=${all} onChange=${chosen} />`;
}

/** A switch has two states; where "not set" is a third, it is a list. */
function onOff({ value, required, onChange }: FieldProps, own: Schema, common: Common) {
  if (required || typeof own.default === 'boolean')
    return html`<${ToggleField} ...${common} value=${value ?? own.default ?? false} onChange=${onChange} />`;
  const options = [
    ['', words('notSet')],
    ['true', words('on')],
    ['false', words('off')],
  ] as const;
  const shown = value === undefined ? '' : String(value);
  return html`<${SelectField} ...${common} value=${shown} options=${options} onChange=${(text: string) => onChange(text === '' ? undefined : text === 'true')} />`;
}

/** The text stays as it was typed, though the value may be written in another way. */
function Typed(props: FieldProps & { control: Control; common: Common }) {
  const { control, common, value, required, all, at } = props;
  const [text, setText] = useState(() => shownAs(control, value));
  const [wrong, setWrong] = useState(false);
  const told = useRef(value);
  useEffect(() => {
    // Set from outside: by a reset, or by somebody else.
    if (same(told.current, value)) return;
    told.current = value;
    setText(shownAs(control, value));
    setWrong(false);
    all.fault(at, false);
  }, [value]);
  useEffect(() => () => all.fault(at, false), [at]);
  const type = (now: string) => {
    setText(now);
    const read = typed(control, now, required);
    setWrong(read === 'no value');
    if (read === 'no value') return all.fault(at, true);
    told.current = read.value;
    props.onChange(read.value);
    all.fault(at, false);
  };
  const secret = control.kind === 'text' && control.secret;
  const lines =
    control.kind === 'json'
      ? Math.min(16, Math.max(3, text.split('\n').length))
      : control.kind === 'text' && control.lines
        ? 4
        : undefined;
  const complaint = wrong
    ? words(control.kind === 'json' ? 'badJson' : control.kind === 'number' && control.whole ? 'badWhole' : 'badNumber')
    : common.error;
  return html`<${TextField} ...${common} error=${complaint} type=${secret ? 'password' : 'text'} inputmode=${control.kind === 'number' ? (control.whole && (control.min ?? -1) >= 0 ? 'numeric' : 'decimal') : undefined} lines=${lines} value=${text} onInput=${type} />`;
}

function Group(props: FieldProps & { control: Control & { kind: 'group' } }) {
  const { control, value, required, depth, at, all } = props;
  const own = resolved(props.schema, all.root);
  const names = control.members.map(({ name }) => name);
  const shared = share(props.errors, names);
  const held = isObject(value) ? value : {};
  const more = Object.keys(held).filter((name) => !names.includes(name));
  const further = Object.fromEntries(more.map((name) => [name, held[name]]));
  const opened = value !== undefined || depth < 2 || required;
  const set = (name: string, now: unknown) => props.onChange(withMember(value, name, now, required));
  const setFurther = (now: unknown) => {
    const known = Object.entries(held).filter(([name]) => names.includes(name));
    props.onChange({ ...Object.fromEntries(known), ...(isObject(now) ? now : {}) });
  };
  if (!opened)
    return html`<${Wrap} ...${props} own=${own} errors=${shared.own}><${Button} icon="plus" label=${words('addTo', { name: props.label })} disabled=${all.disabled} onClick=${() => props.onChange(startOf(own, all.root, depth))}>${words('add')}<//><//>`;
  const member = ({ name, schema, required: must }: Member) => {
    const inner = resolved(schema, all.root);
    const label = typeof inner.title === 'string' && inner.title !== '' ? inner.title : name;
    return html`<${Field} key=${name} schema=${schema} value=${held[name]} label=${label} quiet=${false} required=${must} depth=${depth + 1} at=${`${at}/${name}`} errors=${shared.of.get(name) ?? NONE} all=${all} onChange=${(now: unknown) => set(name, now)} />`;
  };
  return html`<${Wrap} ...${props} own=${own} errors=${shared.own}>${control.members.map(member)}${more.length > 0 && html`<${Field} schema=${{}} value=${further} label=${words('further')} quiet=${false} required=${false} depth=${depth + 1} at=${`${at}/*`} errors=${NONE} all=${all} onChange=${setFurther} />`}<//>`;
}

function List(props: FieldProps & { control: Control & { kind: 'list' } }) {
  const { control, value, required, depth, at, all } = props;
  const own = resolved(props.schema, all.root);
  const items = Array.isArray(value) ? value : [];
  const shared = share(
    props.errors,
    items.map((_, index) => index),
  );
  const set = (index: number, now: unknown) => {
    // An item whose field is empty is an empty text, not a gap in the list.
    const kept = now === undefined ? startOf(control.items, all.root, depth + 1) : now;
    props.onChange(withItem(value, index, kept ?? null, required));
  };
  const atMost = typeof own.maxItems === 'number' && items.length >= own.maxItems;
  const item = (one: unknown, index: number) =>
    html`<div class="form-item" key=${index}><${Field} schema=${control.items} value=${one} label=${words('item', { name: props.label, n: index + 1 })} quiet=${true} required=${true} depth=${depth + 1} at=${`${at}/${index}`} errors=${shared.of.get(index) ?? NONE} all=${all} onChange=${(now: unknown) => set(index, now)} /><${Button} kind="quiet" icon="close" label=${words('removeFrom', { n: index + 1, name: props.label })} disabled=${all.disabled} onClick=${() => props.onChange(withItem(value, index, undefined, required))} /></div>`;
  return html`<${Wrap} ...${props} own=${own} errors=${shared.own}>${items.length === 0 && html`<p class="note">${words('noItems')}</p>`}${items.map(item)}${!atMost && html`<${Button} icon="plus" label=${words('addTo', { name: props.label })} disabled=${all.disabled} onClick=${() => props.onChange(withItem(value, items.length, startOf(control.items, all.root, depth + 1) ?? null, required))}>${words('add')}<//>`}<//>`;
}

function Wrap(props: FieldProps & { own: Schema; children?: unknown }) {
  const { description } = props.own;
  const wrong = messages(props.errors);
  return html`<fieldset class="form-group"><legend class=${props.quiet ? 'unseen' : ''}>${props.label}</legend>${typeof description === 'string' && html`<p class="hint">${sentence(description)}</p>`}${wrong && html`<p class="wrong-text" role="alert">${wrong}</p>`}${props.children}</fieldset>`;
}

const messages = (errors: readonly FieldError[]): string | undefined =>
  errors.length === 0
    ? undefined
    : errors.map(({ at, message }) => (at === '' ? message : `${at}: ${message}`)).join(' ');

/** Description and limits of a field. */
function hintOf(own: Schema, control: Control, { required, value, depth }: FieldProps): string {
  const parts = [typeof own.description === 'string' ? sentence(own.description) : ''];
  if (control.kind === 'number') {
    const { min, max } = control;
    const limits = { ...(min !== undefined && { min: limit(min) }), ...(max !== undefined && { max: limit(max) }) };
    if (min !== undefined && max !== undefined) parts.push(words('between', limits));
    else if (min !== undefined) parts.push(words('atLeast', limits));
    else if (max !== undefined) parts.push(words('atMost', limits));
  }
  if (control.kind === 'json') parts.push(words('json'));
  if (isSecret(own)) parts.push(words('secret'));
  else if (typeof own.pattern === 'string') parts.push(words('pattern', { pattern: own.pattern }));
  if (depth > 0 && own.default !== undefined) parts.push(words('standard', { value: JSON.stringify(own.default) }));
  if (depth > 0 && required && value === undefined) parts.push(words('required'));
  return parts.filter((part) => part !== '').join(' ');
}

const limit = (value: number): string => numberText(value, 6);

const sentence = (text: string): string => {
  const trimmed = text.trim();
  const whole = /^[a-z]+[ ,]/.test(trimmed) ? `${trimmed.slice(0, 1).toUpperCase()}${trimmed.slice(1)}` : trimmed;
  return whole === '' || /[.!?…:]$/.test(whole) ? whole : `${whole}.`;
};
