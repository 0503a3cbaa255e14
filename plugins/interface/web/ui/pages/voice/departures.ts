/** Departures of data from the device: destination, size, rule. */
import { html } from 'htm/preact';
import { whenText } from '../../core/format.ts';
import { useAsk, useEvents } from '../../parts/ask.ts';
import { Answer, Card, Empty, Facts } from '../../parts/frame.ts';
import { Icon } from '../../parts/icon.ts';
import type { PageView } from '../../view/shapes.ts';
import { View } from '../../view/view.ts';
import { words } from './text.ts';

interface VoiceLedger {
  readonly unsent: readonly { readonly at: number; readonly rule: string; readonly reason: string }[];
  readonly used: { readonly daySeconds: number; readonly monthSeconds: number };
}

const AFTER = ['audio.state', 'app.state', 'system.network'];
const EACH: Partial<PageView> = {
  words: 'pages/voice',
  heading: 'each',
  params: { limit: 200 },
  after: AFTER,
  empty: 'nothingLeft',
  columns: [
    'to',
    ['when', '{at:when}'],
    ['for', '{for:code}'],
    'what',
    ['rule', '{details.rule}', '–'],
    ['bytes', '{bytes:bytes}'],
  ],
};

export function Departures() {
  const sums = useAsk<{ sums: readonly unknown[] }>('/ledger/sums');
  const voice = useAsk<VoiceLedger>('/voice/ledger');
  const reload = () => {
    sums.reload();
    voice.reload();
  };
  useEvents(AFTER, reload, 1000);
  const left = ({ sums: all }: NonNullable<typeof sums.data>) =>
    all.length === 0
      ? html`<${Card} class="nothing-left" label=${words('departures')}><div class="big-word"><${Icon} name="lock" size=${40} /><h2>${words('nothingLeft')}</h2><p class="lead">${words('nothingLeftLead')}</p></div><//>`
      : html`<${View} of="ledger.sums" base=${['voice']} /><${View} of="ledger.list" base=${['voice']} more=${EACH} />`;
  return html`<${Answer} of=${sums}>${left}<//>${
    voice.data &&
    html`<${Card} title=${words('cloud')}><p class="note">${words('cloudLead')}</p><${Facts} rows=${[
      [words('today'), words('seconds', { n: voice.data.used.daySeconds })],
      [words('month'), words('seconds', { n: voice.data.used.monthSeconds })],
    ]} />${voice.data.unsent.length > 0 ? html`<h3>${words('unsent')}</h3><ul class="lines">${voice.data.unsent.map((one) => html`<li key=${one.at}>${whenText(one.at)} · ${one.rule} · ${one.reason}</li>`)}</ul>` : html`<${Empty} title=${words('noneUnsent')} />`}<//>`
  }`;
}
