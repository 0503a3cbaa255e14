/** Buttons of a view, and the dialog that asks first: the reader presses, and the gate judges the reader's rights. */
import { signal } from '@preact/signals';
import { html } from 'htm/preact';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { request } from '../core/api.ts';
import type { Operation } from '../core/operation.ts';
import { go } from '../core/route.ts';
import { messageOf } from '../parts/ask.ts';
import { Button, isQuiet, tellError } from '../parts/button.ts';
import { Dialog } from '../parts/dialog.ts';
import { Several, TextField } from '../parts/field.ts';
import { common } from '../parts/text.ts';
import { tell } from '../parts/toast.ts';
import { pathNames, requestOf } from './asking.ts';
import { type Drawn, fitsRule, type Row } from './cells.ts';
import type { PageAction, PageField } from './shapes.ts';
import { fill, memberOf } from './template.ts';
import { templateOf, text } from './text.ts';

/** How often something was done by a button. */
export const acted = signal(0);

/** Lists are those of fields with options. */
type Values = Readonly<Record<string, string | readonly string[]>>;

interface Doing {
  readonly action: PageAction;
  readonly row: Row;
  readonly values?: Values;
  readonly error?: string;
}

export interface Acts {
  readonly buttons: (actions: readonly PageAction[], row: Row) => ComponentChildren;
  readonly dialog: ComponentChildren;
}

/** Calls an operation over REST. Rejects where there is none with these parameters. */
export async function call(name: string, params: Row, operations: readonly Operation[]): Promise<Row> {
  const wanted = requestOf(name, params, operations);
  if (wanted === undefined) throw new Error(text('noOperation', { operation: name }));
  const { method, path, rest } = wanted;
  return request<Row>(method, path, method === 'GET' || method === 'DELETE' ? { query: rest } : { body: rest });
}

/** Members of a row that stand in the path of an operation. */
export function pathParams(name: string, row: Row, operations: readonly Operation[]): Row {
  const found = operations.find((one) => one.name === name);
  return Object.fromEntries(pathNames(found?.path).map((member) => [member, memberOf(row, member)]));
}

export const reads = (name: string, operations: readonly Operation[]): boolean =>
  operations.find((one) => one.name === name)?.method === 'GET';

export function useActs(view: Drawn, operations: readonly Operation[]): Acts {
  const [doing, setDoing] = useState<Doing | undefined>(undefined);
  const run = async ({ operation, params = {}, fields, done }: PageAction, row: Row, values: Values) => {
    const answer = await call(
      operation,
      { ...pathParams(operation, row, operations), ...params, ...values },
      operations,
    );
    const scope = { ...row, ...params, ...open(fields, values), ...answer };
    const told = [done ?? []]
      .flat()
      .map((one) => fill(templateOf(view.words, one), scope, view.words))
      .find((one) => one !== undefined);
    if (told !== undefined) tell(told);
    acted.value += 1;
    // A change has a page of its own.
    if (typeof answer.change === 'string') go('changes', [answer.change]);
  };
  const press = (action: PageAction, row: Row) => {
    if (action.fields === undefined && action.ask === undefined) return run(action, row, {});
    return setDoing({ action, row });
  };
  const submit = async (values: Values) => {
    const { action, row } = doing!;
    // The shell may ask for a confirmation next; two dialogs would be one too many.
    setDoing(undefined);
    try {
      await run(action, row, values);
    } catch (thrown) {
      if (action.fields === undefined || isQuiet(thrown)) throw thrown;
      setDoing({ action, row, values: open(action.fields, values), error: messageOf(thrown) });
    }
  };
  const buttons = (actions: readonly PageAction[], row: Row) =>
    actions
      .filter(({ only, unless }) => fitsRule(row, only) && (unless === undefined || !fitsRule(row, unless)))
      .map((action) => {
        const { kind, icon, operation } = action;
        const label = view.say(action.label, row);
        const shown = action.text === undefined ? (icon === undefined ? label : undefined) : view.say(action.text, row);
        return html`<${Button} key=${label} kind=${kind} icon=${icon} label=${label} writes=${!reads(operation, operations)} onClick=${() => press(action, row)}>${shown}<//>`;
      });
  const close = () => setDoing(undefined);
  const writes = !reads(doing?.action.operation ?? '', operations);
  const dialog =
    doing && html`<${Question} ...${doing} writes=${writes} view=${view} submit=${submit} close=${close} />`;
  return { buttons, dialog };
}

/** Values without those of secret fields: they are neither kept nor shown. */
const open = (fields: readonly PageField[] = [], values: Values): Values =>
  Object.fromEntries(
    Object.entries(values).filter(([name]) => !fields.some((one) => one.name === name && one.kind === 'secret')),
  );

interface QuestionProps extends Doing {
  readonly writes: boolean;
  readonly view: Drawn;
  readonly submit: (values: Values) => Promise<void>;
  readonly close: () => void;
}

function Question({ action, row, values: typed, error, writes, view, submit, close }: QuestionProps) {
  const { fields = [], ask = {}, label, kind } = action;
  const { say } = view;
  const begin = ({ name, value = '', options }: PageField) =>
    typed?.[name] ?? (options ? [] : (textOf(memberOf(row, name)) ?? value));
  const [values, setValues] = useState<Values>(Object.fromEntries(fields.map((one) => [one.name, begin(one)])));
  const trimmed = ({ name, kind: sort }: PageField) => {
    const value = values[name]!;
    return typeof value === 'string' && sort !== 'secret' ? value.trim() : value;
  };
  const whole = fields.every((one) => one.options || String(values[one.name]).trim() !== '');
  const first = fields.find((one) => one.kind !== 'fixed');
  const typeOf = { secret: 'password', time: 'time', fixed: 'text' } as const;
  const put = (name: string) => (value: string | readonly string[]) => setValues((now) => ({ ...now, [name]: value }));
  const field = ({ name, label: title = name, hint, kind: sort, options }: PageField) => {
    const [label, onChange] = [say(title), put(name)];
    const words = options?.map((one) => [one, say(one)]);
    if (words)
      return html`<${Several} key=${name} label=${label} values=${values[name]} options=${words} onChange=${onChange} />`;
    return html`<${TextField} key=${name} label=${label} hint=${hint && say(hint)} value=${values[name]} type=${sort ? typeOf[sort] : 'text'} disabled=${sort === 'fixed'} error=${name === first?.name ? error : undefined} onInput=${onChange} />`;
  };
  const send = (event: Event) => {
    event.preventDefault();
    const given = fields.map((one) => [one.name, trimmed(one)] as const).filter(([, value]) => value.length > 0);
    submit(Object.fromEntries(given)).catch(tellError);
  };
  const word = say(ask.submit ?? action.text ?? label, row);
  return html`<${Dialog} title=${say(ask.title ?? label, row)} onClose=${close}><form class="stack" onSubmit=${send}>${ask.text && html`<p>${say(ask.text, row)}</p>`}${fields.map(field)}<div class="actions"><${Button} onClick=${close}>${common('cancel')}<//><${Button} kind=${kind === 'danger' ? 'danger' : 'main'} type="submit" writes=${writes} disabled=${!whole}>${word}<//></div></form><//>`;
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
