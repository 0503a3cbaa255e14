/** A code for another browser; the Core has the person confirm it. */

import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import type { Answers } from '../../core/answers.ts';
import { api } from '../../core/api.ts';
import { timeText } from '../../core/format.ts';
import { Button, Copy } from '../../parts/button.ts';
import { Choice } from '../../parts/field.ts';
import { Card } from '../../parts/frame.ts';
import { words } from './text.ts';

type Code = Answers['sessions.code'];

export function Invite() {
  const [role, setRole] = useState<'viewer' | 'operator'>('viewer');
  const [made, setMade] = useState<Code | undefined>(undefined);
  const make = async () => setMade(await api.post<Code>('/sessions/codes', { role }));
  const roles = [
    ['viewer', words('viewer')],
    ['operator', words('operator')],
  ] as const;
  const [page] = made?.pages ?? [];
  const address = `${page}#code=${made?.code}`;
  return html`<${Card} class="session-invite" title=${words('invite')}><p>${words('inviteLead')}</p><${Choice} label=${words('as')} value=${role} options=${roles} onChange=${setRole} /><p class="hint">${words(role === 'viewer' ? 'viewerMeans' : 'operatorMeans')}</p><${Button} kind="main" icon="key" writes onClick=${make}>${words('make')}<//><div role="status">${made && html`<p class="sign-in-code" aria-label=${words('code')}>${made.code}</p><p>${words('goodUntil', { time: timeText(made.until) })}</p>${page !== undefined && html`<p>${words('address')}</p><p class="sign-in-address"><code>${address}</code><${Copy} text=${address} /></p>`}`}</div><//>`;
}
