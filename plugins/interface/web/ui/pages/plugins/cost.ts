import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { api } from '../../core/api.ts';
import { bytesText, durationText, percentText } from '../../core/format.ts';
import { link } from '../../core/route.ts';
import { Bar } from '../../parts/bar.ts';
import { Button } from '../../parts/button.ts';
import { type Load, type User, useLoad } from '../../parts/costs.ts';
import { Answer, Card, Figure } from '../../parts/frame.ts';
import { Table } from '../../parts/table.ts';
import { text } from './text.ts';

interface Sampled {
  readonly plugin: string;
  readonly busyMs: number;
  readonly longestMs: number;
  readonly functions: readonly { readonly where: string; readonly ms: number }[];
}

const SAMPLE_MS = 3_000;

/** CPU and memory of plugins, apps and the Core, in one list. */
export function Cost() {
  const load = useLoad(5_000);
  return html`<${Answer} of=${load}>${(data: Load) => html`<${Sums} load=${data} /><${Users} users=${load.users ?? []} /><${Sample} />`}<//>`;
}

function Sums({ load: { core } }: { load: Load }) {
  const { minutePercent, processors, residentBytes, heapBytes, memory } = core;
  return html`<div class="figures"><${Figure} label=${text('cpuAll')} value=${percentText(minutePercent / 100 / processors)} note=${text('ofProcessors', { n: processors })} /><${Figure} label=${text('memoryAll')} value=${bytesText(residentBytes)} note=${text('ofThis', { bytes: bytesText(heapBytes) })} /><${Figure} label=${text('memoryFree')} value=${bytesText(memory.availableBytes)} note=${text('ofTotal', { bytes: bytesText(memory.totalBytes) })} /></div>`;
}

function Users({ users }: { users: readonly User[] }) {
  const most = Math.max(1, users[0]?.percent ?? 1);
  const columns = [
    { title: text('who'), cell: ({ name, kind }: User) => (kind === 'core' ? text('core') : name) },
    { title: text('kind'), cell: ({ kind }: User) => text(`kind-${kind}`) },
    {
      title: text('share'),
      number: true,
      cell: ({ percent }: User) =>
        html`<span class="share"><${Bar} share=${percent / most} />${percentText(percent / 100)}</span>`,
      by: ({ percent }: User) => percent,
    },
    {
      title: text('memory'),
      number: true,
      cell: ({ bytes }: User) => (bytes === undefined ? text('within') : bytesText(bytes)),
      by: ({ bytes }: User) => bytes ?? 0,
    },
  ];
  return html`<${Card} title=${text('whatCosts')}><p class="note">${text('howCounted')}</p><${Table} label=${text('whatCosts')} columns=${columns} rows=${users} rowKey=${({ kind, id }: User) => `${kind} ${id}`} href=${({ href }: User) => href} most=${15} /><//>`;
}

/** Looks for some seconds at whose code runs. */
function Sample() {
  const [found, setFound] = useState<readonly Sampled[] | undefined>(undefined);
  const take = async () => {
    const { plugins } = await api.post<{ readonly plugins: readonly Sampled[] }>('/plugins/sample', { ms: SAMPLE_MS });
    setFound(plugins);
  };
  const rows = (found ?? []).flatMap(({ plugin, functions }) => functions.map((one) => ({ plugin, ...one })));
  const sorted = rows.toSorted((a, b) => b.ms - a.ms).slice(0, 40);
  type Line = (typeof sorted)[number];
  const columns = [
    {
      title: text('function'),
      cell: ({ where }: Line) => html`<code>${where}</code>`,
    },
    {
      title: text('of'),
      cell: ({ plugin }: Line) =>
        plugin === 'core' ? text('core') : html`<a href=${link('plugins', [plugin])}>${plugin}</a>`,
    },
    { title: text('took'), number: true, cell: ({ ms }: Line) => durationText(ms), by: ({ ms }: Line) => ms },
    { title: text('share'), number: true, cell: ({ ms }: Line) => percentText(ms / SAMPLE_MS) },
  ];
  const action = html`<${Button} icon="play" writes onClick=${take}>${text('sample', { time: durationText(SAMPLE_MS) })}<//>`;
  return html`<${Card} title=${text('hottest')} aside=${action}><p class="note">${text('sampleLead')}</p><div role="status">${found !== undefined && (sorted.length === 0 ? html`<p>${text('nothingRan')}</p>` : html`<${Table} label=${text('hottest')} columns=${columns} rows=${sorted} rowKey=${({ plugin, where }: Line) => `${plugin} ${where}`} />`)}</div><//>`;
}
