import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { link } from '../../core/route.ts';
import { levelOf, type Row, stateText, troubleOf, troublesOf } from '../../parts/condition.ts';
import { Choice, TextField } from '../../parts/field.ts';
import { Badge, Card } from '../../parts/frame.ts';
import type { Health } from '../../parts/shapes.ts';
import { Table } from '../../parts/table.ts';
import { Troubles } from '../../parts/troubles.ts';
import { text } from './text.ts';

const WORST = ['error', 'warn', 'quiet', 'info', 'okay'];

/** Troubles of device and plugins; then all plugins, those with a problem first. */
export function List({ rows, health }: { rows: readonly Row[]; health: Health | undefined }) {
  const [wanted, setWanted] = useState('');
  const [which, setWhich] = useState<'every' | 'unwell'>('every');
  const troubles = troublesOf(rows, health);
  const unwell = rows.filter((row) => troubleOf(row) !== undefined);
  const shown = (which === 'every' ? rows : unwell)
    .filter(({ id, summary }) => `${id} ${summary}`.toLowerCase().includes(wanted.trim().toLowerCase()))
    .toSorted((a, b) => WORST.indexOf(levelOf(a)) - WORST.indexOf(levelOf(b)) || (a.id < b.id ? -1 : 1));
  const columns = [
    { title: text('plugin'), cell: ({ id }: Row) => id, by: ({ id }: Row) => id },
    {
      title: text('state'),
      cell: (row: Row) => html`<${Badge} level=${levelOf(row)}>${stateText(row)}<//>`,
      by: (row: Row) => WORST.indexOf(levelOf(row)),
    },
    { title: text('does'), cell: ({ summary }: Row) => summary },
    { title: text('says'), cell: saysOf },
  ];
  const choices = [
    ['every', text('everyOne', { n: rows.length })],
    ['unwell', text('unwell', { n: unwell.length })],
  ] as const;
  const count = text('attention', { n: troubles.length });
  return html`${troubles.length > 0 && html`<${Card} title=${count}><${Troubles} troubles=${troubles} most=${50} /><//>`}<${Card} label=${text('all')}><div class="filters"><${TextField} label=${text('filter')} type="search" value=${wanted} onInput=${setWanted} /><${Choice} label=${text('which')} value=${which} options=${choices} onChange=${setWhich} /></div><${Table} label=${text('all')} columns=${columns} rows=${shown} rowKey=${({ id }: Row) => id} href=${({ id }: Row) => link('plugins', [id])} empty=${text('none')} most=${200} /><//>`;
}

/** Message of a plugin, cut at 160 characters: one may list sixty names. */
export function saysOf({ said, reason, state }: Row): string {
  const whole = (state === 'active' ? (said?.warning?.message ?? said?.message) : (reason ?? said?.message)) ?? '';
  return whole.length > 160 ? `${whole.slice(0, 160)} …` : whole;
}
