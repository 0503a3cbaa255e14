/** Frames as they go over the wire, decoded by the Core. Nobody is asked to decode until somebody presses the button. */
import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { locale } from '../../core/text.ts';
import { useVisible } from '../../parts/ask.ts';
import { Button } from '../../parts/button.ts';
import { SelectField } from '../../parts/field.ts';
import { Badge, Card, Empty, Problem } from '../../parts/frame.ts';
import { LongList } from '../../parts/table.ts';
import { useLines } from './lines.ts';
import type { Endpoint } from './shapes.ts';
import { words } from './text.ts';

const KEPT = 5000;

interface Traced {
  readonly at: number;
  readonly direction: 'out' | 'in';
  readonly frame: string;
  readonly endpoint?: string;
  readonly rid?: number;
  readonly op?: string;
  readonly status?: string;
  readonly bytes: number;
  readonly body?: string;
  readonly reason?: string;
  readonly lost: number;
  readonly key: number;
}
let number = 0;

export function Traffic({ endpoints }: { endpoints: readonly Endpoint[] }) {
  const [on, setOn] = useState(false);
  const [only, setOnly] = useState('');
  const [frames, setFrames] = useState<readonly Traced[]>([]);
  const [lost, setLost] = useState(0);
  const [error, setError] = useState<unknown>(undefined);
  const visible = useVisible();
  useLines<Traced>(on && visible ? 'bridge.trace' : undefined, only === '' ? {} : { endpoint: only }, {
    lines: (lines) => {
      setFrames((now) => [...now, ...lines.map((one) => ({ ...one, key: number++ }))].slice(-KEPT));
      setLost((now) => now + lines.reduce((sum, one) => sum + one.lost, 0));
    },
    closed: (thrown) => {
      setOn(false);
      setError(thrown);
    },
  });
  const options = [['', words('allEndpoints')] as const, ...endpoints.map(({ name }) => [name, name] as const)];
  const start = () => {
    setError(undefined);
    setOn(!on);
  };
  return html`<${Card} title=${words('tab-traffic')} aside=${lost > 0 ? html`<${Badge} level="warn">${words('lostFrames', { n: lost })}<//>` : null}><p class="note">${words('trafficLead')}</p><div class="row tools"><${Button} kind=${on ? 'normal' : 'main'} icon=${on ? 'pause' : 'play'} onClick=${start}>${words(on ? 'stopTrace' : 'startTrace')}<//><${Button} kind="quiet" disabled=${frames.length === 0} onClick=${() => {
    setFrames([]);
    setLost(0);
  }}>${words('clear')}<//><${SelectField} label=${words('endpoint')} value=${only} options=${options} onChange=${setOnly} /></div>${error !== undefined && html`<${Problem} error=${error} />`}${frames.length === 0 ? html`<${Empty} icon="bridge" title=${words(on ? 'noTraffic' : 'notFollowed')} />` : html`<${LongList} label=${words('tab-traffic')} items=${frames} height=${30} follow=${on} itemKey=${({ key }: Traced) => key} row=${(one: Traced) => html`<${Row} of=${one} />`} />`}<//>`;
}

const clock = (at: number): string =>
  new Intl.DateTimeFormat(locale.value, { minute: '2-digit', second: '2-digit', fractionalSecondDigits: 3 }).format(at);

function Row({ of: one }: { of: Traced }) {
  const outcome = one.status ?? one.op ?? one.reason ?? '';
  const bad = one.frame === 'BAD' || (one.status !== undefined && one.status !== 'OK');
  const said = words(one.direction === 'out' ? 'toBridge' : 'fromBridge');
  return html`<div class=${`frame ${bad ? 'bad' : ''}`}><span class="soft">${clock(one.at)}</span><span title=${said}><span aria-hidden="true">${one.direction === 'out' ? '→' : '←'}</span><span class="unseen">${said}</span></span><strong>${one.frame}</strong><span>${one.endpoint ?? ''}</span><span>${outcome}</span><span class="soft">${one.rid === undefined ? '' : `#${one.rid}`}</span><span class="soft">${one.body ?? ''}${(one.body?.length ?? 0) / 2 < one.bytes ? ' …' : ''}</span></div>`;
}
