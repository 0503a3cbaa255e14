/** How well Core and bridge hear each other, and what one can do about it. */
import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { api } from '../../core/api.ts';
import { agoText, durationText, numberText } from '../../core/format.ts';
import { Button } from '../../parts/button.ts';
import { Dialog } from '../../parts/dialog.ts';
import { Figure } from '../../parts/frame.ts';
import { Icon } from '../../parts/icon.ts';
import type { Level as Good } from '../../parts/level.ts';
import { common } from '../../parts/text.ts';
import { tell } from '../../parts/toast.ts';
import type { Link } from './shapes.ts';
import { words } from './text.ts';

const GOOD: Readonly<Record<Link['state'], Good>> = { up: 'okay', degraded: 'warn', hello: 'info', down: 'error' };

export function LinkFigures({ link }: { link: Link }) {
  const { state, reason, lastReset } = link;
  const up = state === 'up' || state === 'degraded';
  return html`<div class="stack">${!up && html`<div class="problem" role="alert"><${Icon} name="warn" /><div><p>${words(`link-${state}`)}</p><p class="note">${reason}</p></div></div>`}${state === 'degraded' && html`<p class="banner" role="status"><${Icon} name="warn" />${words('degraded')}</p>`}<div class="figures"><${Figure} label=${words('link')} value=${words(`link-${state}`)} level=${GOOD[state] === 'error' ? 'error' : undefined} note=${link.firmware && words('firmware', { version: link.firmware })} /><${Figure} label=${words('roundTrip')} value=${link.rttUs === undefined ? '–' : durationText(link.rttUs / 1000)} note=${link.clockKhz && words('clock', { mhz: numberText(link.clockKhz / 1000), bytes: link.transactionBytes ?? 0 })} /><${Figure} label=${words('traffic')} value=${numberText(link.transactionsPerSecond)} note=${words('perSecond')} /><${Figure} label=${words('bad')} value=${`${numberText(link.badPercent, 2)} %`} level=${link.badPercent > 1 ? 'warn' : undefined} note=${words('again', { percent: numberText(link.retransmitPercent, 2) })} /><${Figure} label=${words('resets')} value=${numberText(link.resets, 0)} note=${lastReset ? `${lastReset.reason}, ${agoText(lastReset.at)}` : words('noReset')} /></div></div>`;
}

/** A question first, then the act. */
export function Sure(props: {
  label: string;
  title: string;
  text: string;
  done: string;
  run: () => Promise<unknown>;
  quiet?: boolean;
}) {
  const [open, setOpen] = useState(false);
  const close = () => setOpen(false);
  const go = async () => {
    try {
      await props.run();
      tell(props.done);
    } finally {
      close();
    }
  };
  return html`<${Button} writes kind=${props.quiet ? 'quiet' : 'danger'} onClick=${() => setOpen(true)}>${props.label}<//>${open && html`<${Dialog} title=${props.title} onClose=${close} actions=${html`<${Button} onClick=${close}>${common('cancel')}<//><${Button} writes kind="danger" onClick=${go}>${props.label}<//>`}><p>${props.text}</p><//>`}`;
}

export const Reboot = () =>
  html`<${Sure} label=${words('reboot')} title=${words('rebootTitle')} text=${words('rebootText')} done=${words('rebooted')} run=${() => api.post('/bridge/reboot')} />`;
