/** Pages that are nothing but the view of an operation: `view` in their page.json names it. */
import { html } from 'htm/preact';
import type { FunctionComponent } from 'preact';
import type { PageProps } from '../core/route.ts';
import { operations } from '../parts/offered.ts';
import { View } from './view.ts';

/** The page with this id: its list, or one row of it where the address says more. */
export function pageOf(id: string, view: string): FunctionComponent<PageProps> {
  return ({ title, rest }) => {
    const detail = operations.value?.find(({ name }) => name === view)?.page?.detail;
    const of = rest.length > 0 && detail !== undefined ? detail : view;
    return html`<${View} key=${`${of} ${rest}`} of=${of} base=${[id]} path=${rest} title=${title} />`;
  };
}
