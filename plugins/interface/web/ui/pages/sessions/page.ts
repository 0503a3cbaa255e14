import { html } from 'htm/preact';
import type { PageProps } from '../../core/route.ts';
import { isOperator } from '../../core/session.ts';
import { sheet, useAsk } from '../../parts/ask.ts';
import { Card } from '../../parts/frame.ts';
import { View } from '../../view/view.ts';
import { Invite } from './invite.ts';
import { Stay } from './stay.ts';
import { words } from './text.ts';

sheet('pages/sessions/sessions.css');

export function Page({ title }: PageProps) {
  const list = useAsk('/sessions');
  return html`<${View} of="sessions.list" base=${['sessions']} title=${title}>${isOperator() && html`<${Stay} onDone=${list.reload} /><${Invite} />`}<${Card} title=${words('never')}><p>${words('neverList')}</p><//><//>`;
}
