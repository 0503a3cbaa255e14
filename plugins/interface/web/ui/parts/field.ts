import { html } from 'htm/preact';
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

interface FieldProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly error?: string | undefined;
  readonly disabled?: boolean;
  /** The label is for screen readers alone. */
  readonly quiet?: boolean;
}

const frame = (props: FieldProps, id: string, control: ComponentChildren, kind = '') =>
  html`<div class=${`field ${kind} ${props.error ? 'wrong' : ''}`}><label for=${id} class=${props.quiet ? 'unseen' : ''}>${props.label}</label>${control}${props.hint && html`<p class="hint" id=${`${id}-hint`}>${props.hint}</p>`}${props.error && html`<p class="wrong-text" id=${`${id}-error`} role="alert">${props.error}</p>`}</div>`;

const described = (props: FieldProps, id: string): string | undefined =>
  [props.hint && `${id}-hint`, props.error && `${id}-error`].filter(Boolean).join(' ') || undefined;

export function TextField(
  props: FieldProps & {
    readonly value: string;
    readonly onInput: (value: string) => void;
    readonly type?: 'text' | 'number' | 'search' | 'password' | 'url' | 'time';
    readonly placeholder?: string;
    readonly lines?: number;
    readonly min?: number;
    readonly max?: number;
    readonly step?: number | 'any';
    readonly list?: readonly string[];
    /** Which keys a phone shows. */
    readonly inputmode?: 'numeric' | 'decimal' | undefined;
  },
) {
  const id = useId();
  const on = (event: Event) => props.onInput((event.currentTarget as HTMLInputElement).value);
  const more = {
    id,
    value: props.value,
    disabled: props.disabled ?? false,
    onInput: on,
    placeholder: props.placeholder,
  };
  const aria = { 'aria-describedby': described(props, id), 'aria-invalid': props.error ? true : undefined };
  const control = props.lines
    ? html`<textarea rows=${props.lines} spellcheck="false" ...${more} ...${aria}></textarea>`
    : html`<input type=${props.type ?? 'text'} min=${props.min} max=${props.max} step=${props.step} inputmode=${props.inputmode} list=${props.list && `${id}-list`} autocomplete="off" spellcheck="false" ...${more} ...${aria} />${props.list && html`<datalist id=${`${id}-list`}>${props.list.map((one) => html`<option value=${one}></option>`)}</datalist>`}`;
  return frame(props, id, control);
}

export function SelectField<T extends string>(
  props: FieldProps & {
    readonly value: T;
    readonly options: readonly (readonly [value: T, label: string])[];
    readonly onChange: (value: T) => void;
  },
) {
  const id = useId();
  const on = (event: Event) => props.onChange((event.currentTarget as HTMLSelectElement).value as T);
  const control = html`<select id=${id} value=${props.value} disabled=${props.disabled ?? false} aria-describedby=${described(props, id)} onChange=${on}>${props.options.map(([value, label]) => html`<option key=${value} value=${value} selected=${value === props.value}>${label}</option>`)}</select>`;
  return frame(props, id, control);
}

export function ToggleField(
  props: FieldProps & { readonly value: boolean; readonly onChange: (value: boolean) => void },
) {
  const id = useId();
  const control = html`<button id=${id} type="button" role="switch" class="toggle" aria-checked=${props.value} disabled=${props.disabled ?? false} aria-describedby=${described(props, id)} onClick=${() => props.onChange(!props.value)}><span></span></button>`;
  return frame(props, id, control, 'row');
}

export function SliderField(
  props: FieldProps & {
    readonly value: number;
    readonly min: number;
    readonly max: number;
    readonly step?: number;
    /** Text beside the slider: the value with its unit. */
    readonly shown?: string;
    readonly onInput: (value: number) => void;
  },
) {
  const id = useId();
  const on = (event: Event) => props.onInput(Number((event.currentTarget as HTMLInputElement).value));
  const control = html`<div class="slider"><input id=${id} type="range" min=${props.min} max=${props.max} step=${props.step ?? 'any'} value=${props.value} disabled=${props.disabled ?? false} aria-valuetext=${props.shown} aria-describedby=${described(props, id)} onInput=${on} /><output for=${id}>${props.shown ?? props.value}</output></div>`;
  return frame(props, id, control);
}

/** One of a few, side by side. */
/** Any of the options, each a button that is pressed or not. */
export function Several(props: {
  readonly label: string;
  readonly values: readonly string[];
  readonly options: readonly (readonly [value: string, label: string])[];
  readonly onChange: (values: readonly string[]) => void;
}) {
  const { label, values, options, onChange } = props;
  const toggled = (one: string) =>
    options.map(([value]) => value).filter((value) => values.includes(value) !== (value === one));
  const buttons = options.map(([value, word]) => {
    const pressed = values.includes(value);
    const press = () => onChange(toggled(value));
    return html`<button key=${value} type="button" aria-pressed=${pressed} onClick=${press}>${word}</button>`;
  });
  const name = html`<span class="label">${label}</span>`;
  return html`<div class="field" role="group" aria-label=${label}>${name}<div class="choice">${buttons}</div></div>`;
}

export function Choice<T extends string>(props: {
  readonly label: string;
  readonly value: T;
  readonly options: readonly (readonly [value: T, label: string])[];
  readonly onChange: (value: T) => void;
}) {
  return html`<div class="choice" role="group" aria-label=${props.label}>${props.options.map(([value, label]) => html`<button key=${value} type="button" aria-pressed=${value === props.value} onClick=${() => props.onChange(value)}>${label}</button>`)}</div>`;
}
