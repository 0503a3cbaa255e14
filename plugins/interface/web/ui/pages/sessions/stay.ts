/** This browser stays signed in from now on; the Core has the person confirm it. */
import { html } from 'htm/preact';
import { session, stays } from '../../core/session.ts';
import { stay } from '../../core/staying.ts';
import { Button } from '../../parts/button.ts';
import { Card } from '../../parts/frame.ts';
import { tell } from '../../parts/toast.ts';
import { words } from './text.ts';

export function Stay({ onDone }: { readonly onDone: () => void }) {
  // Without a secure context, as over plain HTTP from elsewhere, a browser makes no keys.
  const already = session.value?.browser !== undefined || stays.value !== undefined;
  if (already || globalThis.crypto?.subtle === undefined) return null;
  const begin = async () => {
    await stay();
    tell(words('stayDone'));
    onDone();
  };
  return html`<${Card} class="session-invite" title=${words('stay')}><p>${words('stayLead')}</p><${Button} icon="key" onClick=${begin}>${words('stayDo')}<//><//>`;
}
