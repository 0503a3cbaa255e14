/** Rights of each plugin from outside, their use, and what was refused to it. */
import { html } from 'htm/preact';
import type { Answers } from '../../core/answers.ts';
import { agoText, numberText } from '../../core/format.ts';
import { link } from '../../core/route.ts';
import { useAsk, useEvents } from '../../parts/ask.ts';
import { LinkButton } from '../../parts/button.ts';
import { Answer, Badge, Card, Empty } from '../../parts/frame.ts';
import { sentenceOf } from '../../parts/right.ts';
import { clean } from '../../parts/said.ts';
import { Table } from '../../parts/table.ts';
import { text } from './text.ts';

type Plugin = Answers['plugins.audit']['plugins'][number];
type Right = Plugin['rights'][number];
type Refused = Plugin['refused'][number];

export function Audit() {
  const audit = useAsk<Answers['plugins.audit']>('/plugins/audit');
  useEvents(['plugin.changed', 'system.refused'], audit.reload, 500);
  return html`<p class="note">${text('auditLead')}</p><${Answer} of=${audit}>${({ plugins }: Answers['plugins.audit']) => (plugins.length === 0 ? html`<${Empty} title=${text('noGuest')} />` : plugins.map((plugin) => html`<${Guest} key=${plugin.id} plugin=${plugin} />`))}<//>`;
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
  return html`<${Card} title=${`${id} ${version}`} aside=${aside}><p class="note">${text(isolation)}; ${granted}; ${text('countedSince', { when: agoText(since) })}</p><${Table} label=${text('may')} columns=${columns} rows=${rights} rowKey=${({ kind, name }: Right) => `${kind} ${name}`} empty=${text('claimsNothing')} />${refused.length > 0 && html`<${Table} label=${text('wasRefused')} columns=${tried} rows=${refused} rowKey=${({ capability }: Refused) => capability} />`}<//>`;
}
