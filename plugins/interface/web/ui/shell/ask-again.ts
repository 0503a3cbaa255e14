/** Loader of the dialog that confirms a sensitive act; it is fetched at the first such act. */
import { signal } from '@preact/signals';
import { html } from 'htm/preact';
import type { FunctionComponent } from 'preact';
import { confirmWith, fetched } from '../core/api.ts';

const dialog = signal<FunctionComponent | undefined>(undefined);

confirmWith(async (error) => {
  const { ask, Confirmation } = await fetched(import('./confirm.ts'));
  dialog.value = Confirmation;
  return ask(error);
});

export function AskAgain() {
  return dialog.value === undefined ? null : html`<${dialog.value} />`;
}
