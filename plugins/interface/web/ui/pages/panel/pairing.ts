/** A code for another browser, on the panel as something to scan. */
import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { api } from '../../core/api.ts';
import { timeText } from '../../core/format.ts';
import { Button } from '../../parts/button.ts';
import { Dialog } from '../../parts/dialog.ts';
import { Choice } from '../../parts/field.ts';
import { text } from './text.ts';

interface Code {
  readonly code: string;
  readonly until: number;
  readonly pages: readonly string[];
}

/** An address that only this device itself can open. */
const isLoopback = (address: string): boolean => /^(127\.|\[::1\]|localhost$)/.test(new URL(address).hostname);

export function Pairing({ onClose }: { onClose: () => void }) {
  const [role, setRole] = useState<'viewer' | 'operator'>('viewer');
  const [shown, setShown] = useState<{ readonly code: Code; readonly page: string } | undefined>(undefined);
  const show = async () => {
    const code = await api.post<Code>('/sessions/codes', { role });
    const page = code.pages.find((one) => !isLoopback(one)) ?? code.pages[0];
    if (page === undefined) throw new Error(text('noAddress'));
    const ms = Math.max(1_000, Math.min(600_000, Math.round(code.until - Date.now())));
    await api.put('/display/pairing', { url: `${page}#code=${code.code}`, ms });
    setShown({ code, page });
  };
  const actions = html`<${Button} kind="main" icon="panel" writes=${true} onClick=${show}>${shown === undefined ? text('showCode') : text('newCode')}<//>`;
  const roles = (['viewer', 'operator'] as const).map((one) => [one, text(one)] as const);
  return html`<${Dialog} title=${text('pair')} onClose=${onClose} actions=${actions}><p>${text('pairLead')}</p><${Choice} label=${text('role')} value=${role} options=${roles} onChange=${setRole} /><p class="note">${text(role === 'viewer' ? 'asViewer' : 'asOperator')}</p><div role="status">${shown && html`<p>${text('codeShown', { until: timeText(shown.code.until) })}</p><p class="panel-code">${shown.code.code}</p>${isLoopback(shown.page) && html`<p class="note">${text('loopback', { address: shown.page })}</p>`}`}</div><//>`;
}
