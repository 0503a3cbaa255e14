/** A row as a card with a form for one of its members. */
import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { ApiError } from '../core/api.ts';
import type { Operation } from '../core/operation.ts';
import { isOperator } from '../core/session.ts';
import { errorsOf, type FieldError } from '../form/errors.ts';
import { Form } from '../form/form.ts';
import { type Schema, same } from '../form/schema.ts';
import { Button } from '../parts/button.ts';
import { Card } from '../parts/frame.ts';
import { type Acts, call, pathParams } from './acts.ts';
import { type Drawn, drawn, parts, type Row } from './cells.ts';
import type { PageView } from './shapes.ts';
import { memberOf } from './template.ts';
import { templateOf, text } from './text.ts';

interface EditProps {
  readonly view: PageView;
  readonly one: Drawn;
  readonly acts: Acts;
  readonly row: Row;
  readonly operations: readonly Operation[];
  readonly reload: () => void;
}

interface Draft {
  readonly value: unknown;
  readonly whole: boolean;
}

const FAULTS = ['CONFIG_VALUE_INVALID', 'PARAMS_INVALID'];

export function Edit({ view, one, acts, row, operations, reload }: EditProps) {
  const { operation, member, schema } = view.edit!;
  const [draft, setDraft] = useState<Draft | undefined>(undefined);
  const [errors, setErrors] = useState<readonly FieldError[]>([]);
  const value = memberOf(row, member);
  const heading = one.say(view.heading ?? '', row);
  const settled = () => {
    setDraft(undefined);
    setErrors([]);
    reload();
  };
  const save = async () => {
    try {
      await call(operation, { ...pathParams(operation, row, operations), [member]: draft?.value }, operations);
      settled();
    } catch (thrown) {
      // Faults of the value stand at its field; other errors are shown as messages.
      if (!(thrown instanceof ApiError && FAULTS.includes(thrown.code))) throw thrown;
      setErrors(errorsOf(thrown));
    }
  };
  const change = (now: unknown, whole: boolean) => {
    setErrors([]);
    setDraft(whole && same(now, value) ? undefined : { value: now, whole });
  };
  const aside = view.aside && drawn(one, [templateOf(view.words, view.aside)], row);
  const facts = view.columns
    .map((column) => drawn(one, parts(column, one)[1], row))
    .filter((fact) => fact !== undefined);
  const note = facts.map((fact, at) => html`${at > 0 && ' · '}${fact}`);
  return html`<${Card} title=${heading} aside=${aside}><${Form} schema=${memberOf(row, schema) as Schema} label=${heading} quiet value=${draft ? draft.value : value} errors=${errors} disabled=${!isOperator()} onChange=${change} /><p class="note">${note}</p><div class="actions">${draft ? html`<${Button} kind="main" writes disabled=${!draft.whole || draft.value === undefined} label=${text('saveOf', { name: heading })} onClick=${save}>${text('save')}<//><${Button} kind="quiet" onClick=${() => change(value, true)}>${text('discard')}<//>` : acts.buttons(view.actions ?? [], row)}</div><//>`;
}
