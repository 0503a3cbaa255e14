/** Long or undoable changes: under way and over. */
import { html } from 'htm/preact';
import { link, type PageProps } from '../../core/route.ts';
import { Head } from '../../parts/frame.ts';
import { View } from '../../view/view.ts';
import { ChangeView, useChange } from './change.ts';
import { text } from './text.ts';

export function Page({ title, rest: [id] }: PageProps) {
  return id === undefined
    ? html`<${View} of="changes.list" base=${['changes']} title=${title} />`
    : html`<${One} key=${id} id=${id} />`;
}

function One({ id }: { id: string }) {
  const change = useChange(id);
  return html`<p><a href=${link('changes')}>← ${text('all')}</a></p><${Head} title=${text('change', { id })} lead=${text('leadOne')} /><${ChangeView} of=${change} />`;
}
