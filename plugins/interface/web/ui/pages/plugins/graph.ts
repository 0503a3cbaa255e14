import { html } from 'htm/preact';
import { useMemo, useState } from 'preact/hooks';
import { link } from '../../core/route.ts';
import { levelOf, type Row, stateText } from '../../parts/condition.ts';
import { SelectField } from '../../parts/field.ts';
import { Card } from '../../parts/frame.ts';
import { Table } from '../../parts/table.ts';
import { BOX, type Drawing, type Edge, layout } from './layout.ts';
import { text } from './text.ts';

/** Dependencies of plugins: as a drawing where there is room, and as a table for everybody. */
export function Graph({ rows }: { rows: readonly Row[] }) {
  const [chosen, setChosen] = useState('');
  const drawing = useMemo(() => layout(rows), [rows]);
  const names = rows.map(({ id }) => id).toSorted();
  const options = [['', text('empty')], ...names.map((id) => [id, id] as const)] as const;
  return html`<${Card} title=${text('graph')}><p class="note">${text('graphLead')}</p><${SelectField} label=${text('mark')} value=${chosen} options=${options} onChange=${setChosen} /><p class="note" role="status">${chosen === '' ? '' : sentenceOf(chosen, drawing.edges)}</p><${Picture} rows=${rows} drawing=${drawing} chosen=${chosen} onChoose=${setChosen} /><//><${Needs} rows=${rows} edges=${drawing.edges} />`;
}

function sentenceOf(id: string, edges: readonly Edge[]): string {
  const needs = edges.filter(({ to }) => to === id).map(({ from }) => from);
  const users = edges.filter(({ from }) => from === id).map(({ to }) => to);
  const none = text('empty');
  return text('needsAndUsers', { id, needs: needs.join(', ') || none, users: users.join(', ') || none });
}

interface PictureProps {
  readonly rows: readonly Row[];
  readonly drawing: Drawing;
  readonly chosen: string;
  readonly onChoose: (id: string) => void;
}

/** The table below says the same, so a screen reader is spared the drawing. */
function Picture({ rows, drawing, chosen, onChoose }: PictureProps) {
  const { places, edges, width, height } = drawing;
  const near = new Set(edges.flatMap(({ from, to }) => (from === chosen ? [to] : to === chosen ? [from] : [])));
  const at = new Map(places.map((one) => [one.id, one]));
  const of = new Map(rows.map((row) => [row.id, row]));
  const curve = ({ from, to }: Edge) => {
    const [a, b] = [at.get(from)!, at.get(to)!];
    const [x, y, u, v] = [a.x + BOX.width, a.y + BOX.height / 2, b.x, b.y + BOX.height / 2];
    const bend = Math.max(24, (u - x) / 2);
    return `M${x} ${y}C${x + bend} ${y} ${u - bend} ${v} ${u} ${v}`;
  };
  const marked = ({ from, to }: Edge) => from === chosen || to === chosen;
  const lines = [...edges].sort((a, b) => Number(marked(a)) - Number(marked(b)));
  const mood = (id: string) => (chosen === '' ? '' : id === chosen ? 'chosen' : near.has(id) ? 'near' : 'far');
  return html`<div class="graph" aria-hidden="true"><svg viewBox=${`0 0 ${width} ${height}`} width=${width} height=${height} focusable="false">${lines.map((edge) => html`<path key=${`${edge.from} ${edge.to}`} class=${`edge ${marked(edge) ? 'marked' : chosen === '' ? '' : 'far'}`} d=${curve(edge)} />`)}${places.map(({ id, x, y }) => html`<g key=${id} class=${`node ${levelOf(of.get(id)!)} ${mood(id)}`} onClick=${() => onChoose(id === chosen ? '' : id)}><rect x=${x} y=${y} width=${BOX.width} height=${BOX.height} rx="9" /><circle cx=${x + 14} cy=${y + BOX.height / 2} r="4" /><text x=${x + 26} y=${y + 18.5}>${id.length > 17 ? `${id.slice(0, 16)}…` : id}</text></g>`)}</svg></div>`;
}

function Needs({ rows, edges }: { rows: readonly Row[]; edges: readonly Edge[] }) {
  const names = (ids: readonly string[]) =>
    ids.length === 0
      ? '–'
      : html`<span class="names">${ids.toSorted().map((id) => html`<a key=${id} href=${link('plugins', [id])}>${id}</a>`)}</span>`;
  const columns = [
    { title: text('plugin'), cell: ({ id }: Row) => html`<a href=${link('plugins', [id])}>${id}</a>` },
    { title: text('state'), cell: (row: Row) => stateText(row) },
    {
      title: text('needs'),
      cell: ({ id }: Row) => names(edges.filter(({ to }) => to === id).map(({ from }) => from)),
    },
    {
      title: text('usedBy'),
      cell: ({ id }: Row) => names(edges.filter(({ from }) => from === id).map(({ to }) => to)),
    },
  ];
  return html`<${Card} title=${text('needsTable')}><${Table} label=${text('needsTable')} columns=${columns} rows=${rows} rowKey=${({ id }: Row) => id} most=${200} /><//>`;
}
