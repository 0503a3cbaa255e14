/** Departures of data from the device: destination, size, rule. */
import { html } from 'htm/preact';
import { bytesText, numberText, whenText } from '../../core/format.ts';
import { useAsk, useEvents } from '../../parts/ask.ts';
import { Answer, Card, Empty, Facts } from '../../parts/frame.ts';
import { Icon } from '../../parts/icon.ts';
import { Table } from '../../parts/table.ts';
import { words } from './text.ts';

interface Departure {
  readonly id: string;
  readonly at: number;
  readonly part: string;
  readonly for: string;
  readonly to: string;
  readonly what: string;
  readonly bytes?: number;
  readonly details?: Readonly<Record<string, unknown>>;
}
interface Sum {
  readonly for: string;
  readonly to: string;
  readonly count: number;
  readonly bytes: number;
}
interface VoiceLedger {
  readonly unsent: readonly { readonly at: number; readonly rule: string; readonly reason: string }[];
  readonly used: { readonly daySeconds: number; readonly monthSeconds: number };
}

export function Departures() {
  const list = useAsk<{ departures: readonly Departure[] }>('/ledger', { limit: 200 });
  const sums = useAsk<{ sums: readonly Sum[] }>('/ledger/sums');
  const voice = useAsk<VoiceLedger>('/voice/ledger');
  const reload = () => {
    for (const one of [list, sums, voice]) one.reload();
  };
  // Nothing tells of each departure; what sends does so in a turn, or in a run of an app.
  useEvents(['audio.state', 'app.state', 'system.network'], reload, 1000);
  const sumColumns = [
    { title: words('to'), cell: ({ to }: Sum) => html`<span class="clip">${to}</span>` },
    { title: words('for'), cell: (one: Sum) => html`<code>${one.for}</code>` },
    {
      title: words('times'),
      number: true,
      cell: ({ count }: Sum) => numberText(count, 0),
      by: ({ count }: Sum) => count,
    },
    { title: words('bytes'), number: true, cell: ({ bytes }: Sum) => bytesText(bytes), by: ({ bytes }: Sum) => bytes },
  ];
  const rule = ({ details = {} }: Departure) => (typeof details.rule === 'string' ? details.rule : '–');
  const columns = [
    { title: words('to'), cell: ({ to }: Departure) => html`<span class="clip">${to}</span>` },
    { title: words('when'), cell: ({ at }: Departure) => whenText(at), by: ({ at }: Departure) => at },
    { title: words('for'), cell: (one: Departure) => html`<code>${one.for}</code>` },
    { title: words('what'), cell: ({ what }: Departure) => what },
    { title: words('rule'), cell: rule },
    {
      title: words('bytes'),
      number: true,
      cell: ({ bytes = 0 }: Departure) => bytesText(bytes),
      by: ({ bytes = 0 }: Departure) => bytes,
    },
  ];
  return html`<${Answer} of=${sums}>${(data: NonNullable<typeof sums.data>) =>
    data.sums.length === 0
      ? html`<${Card} class="nothing-left" label=${words('departures')}><div class="big-word"><${Icon} name="lock" size=${40} /><h2>${words('nothingLeft')}</h2><p class="lead">${words('nothingLeftLead')}</p></div><//>`
      : html`<${Card} title=${words('byReceiver')}><${Table} label=${words('byReceiver')} columns=${sumColumns} rows=${data.sums} rowKey=${({ for: who, to }: Sum) => `${who} ${to}`} /><//>`}<//><${Answer} of=${list}>${(data: NonNullable<typeof list.data>) => data.departures.length > 0 && html`<${Card} title=${words('each')}><${Table} label=${words('each')} columns=${columns} rows=${data.departures} rowKey=${({ id }: Departure) => id} /><//>`}<//>${
    voice.data &&
    html`<${Card} title=${words('cloud')}><p class="note">${words('cloudLead')}</p><${Facts} rows=${[
      [words('today'), words('seconds', { n: voice.data.used.daySeconds })],
      [words('month'), words('seconds', { n: voice.data.used.monthSeconds })],
    ]} />${voice.data.unsent.length > 0 ? html`<h3>${words('unsent')}</h3><ul class="lines">${voice.data.unsent.map((one) => html`<li key=${one.at}>${whenText(one.at)} · ${one.rule} · ${one.reason}</li>`)}</ul>` : html`<${Empty} title=${words('noneUnsent')} />`}<//>`
  }`;
}
