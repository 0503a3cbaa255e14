/** Rights of each plugin from outside, their use, and what was refused to it. */
import { html } from 'htm/preact';
import { agoText, numberText } from '../../core/format.ts';
import { link } from '../../core/route.ts';
import { useAsk, useEvents } from '../../parts/ask.ts';
import { LinkButton } from '../../parts/button.ts';
import { Answer, Badge, Card, Empty } from '../../parts/frame.ts';
import { sentenceOf } from '../../parts/right.ts';
import { clean } from '../../parts/said.ts';
import { Table } from '../../parts/table.ts';
import { text } from './text.ts';

interface Right {
  readonly kind: string;
  readonly name: string;
  readonly summary: string;
  readonly granted: boolean;
  /** Absent where the Core does not see the use. */
  readonly count?: number;
  readonly last?: number;
}

interface Refused {
  readonly capability: string;
  readonly hint: string;
  readonly count: number;
  readonly ts: number;
}

interface Plugin {
  readonly id: string;
  readonly version: string;
  readonly isolation: 'inline' | 'worker' | 'process';
  readonly origin: 'installed' | 'sku';
  readonly grantedAt?: number;
  readonly grantedBy?: string;
  readonly since: number;
  readonly rights: readonly Right[];
  readonly refused: readonly Refused[];
}

interface Listing {
  readonly plugins: readonly Plugin[];
}

export function Audit() {
  const audit = useAsk<Listing>('/plugins/audit');
  useEvents(['plugin.changed', 'system.refused'], audit.reload, 500);
  const draw = ({ plugins }: Listing) =>
    plugins.length === 0
      ? html`<${Empty} title=${text('noGuest')} />`
      : plugins.map((plugin) => html`<${Guest} key=${plugin.id} plugin=${plugin} />`);
  return html`<p class="note">${text('auditLead')}</p><${Answer} of=${audit}>${draw}<//>`;
}

function Guest({ plugin }: { plugin: Plugin }) {
  const { id, version, isolation, origin, grantedAt, grantedBy, since, rights, refused } = plugin;
  const when = grantedAt === undefined ? '–' : agoText(grantedAt);
  const granted =
    origin === 'sku'
      ? text('bySku')
      : grantedBy === undefined
        ? text('grantedOn', { when })
        : text('grantedBy', { when, who: clean(grantedBy) });
  const aside = html`<${LinkButton} kind="quiet" href=${link('plugins', [id])}>${text('plugin')}<//>`;
  const columns = [
    {
      title: text('may'),
      cell: (right: Right) =>
        html`${clean(sentenceOf(right))}${!right.granted && html` <${Badge} level="warn">${text('notGranted')}<//>`}`,
    },
    {
      title: text('used'),
      number: true,
      cell: ({ count }: Right) => (count === undefined ? text('unseen') : numberText(count)),
    },
    { title: text('lastUse'), cell: ({ last }: Right) => (last === undefined ? '' : agoText(last)) },
  ];
  const tried = [
    { title: text('wasRefused'), cell: ({ capability }: Refused) => html`<code>${clean(capability)}</code>` },
    { title: text('times'), number: true, cell: ({ count }: Refused) => numberText(count) },
    { title: text('lastUse'), cell: ({ ts }: Refused) => agoText(ts) },
    { title: text('grantWith'), cell: ({ hint }: Refused) => clean(hint) },
  ];
  const about = [text(isolation), granted, text('countedSince', { when: agoText(since) })].join('; ');
  const rightKey = ({ kind, name }: Right) => `${kind} ${name}`;
  const [may, was, none] = [text('may'), text('wasRefused'), text('claimsNothing')];
  const list = html`<${Table} label=${may} columns=${columns} rows=${rights} rowKey=${rightKey} empty=${none} />`;
  const capabilityOf = ({ capability }: Refused) => capability;
  const refusals =
    refused.length > 0 && html`<${Table} label=${was} columns=${tried} rows=${refused} rowKey=${capabilityOf} />`;
  const title = `${id} ${version}`;
  return html`<${Card} title=${title} aside=${aside}><p class="note">${about}</p>${list}${refusals}<//>`;
}
