/** The log of the Core and of each app, live. */

import { html } from 'htm/preact';
import { useMemo, useState } from 'preact/hooks';
import type { Answers } from '../../core/answers.ts';
import { whenText } from '../../core/format.ts';
import { link, type PageProps } from '../../core/route.ts';
import { sheet, useAsk } from '../../parts/ask.ts';
import { SelectField, TextField } from '../../parts/field.ts';
import { Badge, Card, Head } from '../../parts/frame.ts';
import type { Level } from '../../parts/level.ts';
import { LEVELS, type LogLine, LogView, useLog } from '../../parts/log-lines.ts';
import { clean } from '../../parts/said.ts';
import { text } from './text.ts';

sheet('parts/log-lines.css');
sheet('pages/logs/logs.css');

type Outcome = LastStart['outcome'];
type LastStart = NonNullable<Answers['logs.lastStart']['lastStart']>;

const OUTCOMES: Readonly<Record<Outcome, Level>> = {
  unfinished: 'error',
  refused: 'error',
  crashed: 'error',
  killed: 'warn',
  stopped: 'okay',
};

export function Page({ title, query }: PageProps) {
  const [level, setLevel] = useState<string>(query.get('level') ?? 'info');
  const [app, setApp] = useState(query.get('app') ?? '');
  const [plugin, setPlugin] = useState(query.get('plugin') ?? '');
  const [wanted, setWanted] = useState(query.get('text') ?? '');
  const apps = useAsk<{ readonly apps: readonly { readonly id: string; readonly title: string }[] }>('/apps');
  const plugins = useAsk<{ readonly plugins: readonly { readonly id: string }[] }>('/plugins');
  const log = useLog({ level, ...(app === '' ? {} : { app }), ...(app === '' && plugin !== '' ? { plugin } : {}) });
  const filter = useMemo(() => filterOf(wanted), [wanted]);
  const levels = LEVELS.map((one) => [one, one === 'debug' ? text('every') : text('atLeast', { level: one })] as const);
  const sources = [
    ['', text('core')] as const,
    ...(apps.data?.apps ?? []).map(({ id, title }) => [id, text('ofApp', { app: clean(title || id) })] as const),
  ];
  const all = [['', text('everyPlugin')] as const, ...(plugins.data?.plugins ?? []).map(({ id }) => [id, id] as const)];
  return html`<${Head} title=${title} lead=${text('lead')} /><${Last} /><${Card} label=${title}><div class="logs-filter"><${SelectField} label=${text('source')} value=${app} options=${sources} onChange=${setApp} /><${SelectField} label=${text('level')} value=${level} options=${levels} onChange=${setLevel} /><${SelectField} label=${text('plugin')} value=${plugin} options=${all} disabled=${app !== ''} onChange=${setPlugin} /><${TextField} label=${text('text')} type="search" value=${wanted} onInput=${setWanted} /></div><${LogView} log=${log} filter=${filter} /><//>`;
}

function filterOf(wanted: string): ((line: LogLine) => boolean) | undefined {
  const part = wanted.trim().toLowerCase();
  if (part === '') return undefined;
  return ({ message, plugin = '', app = '', fields }) =>
    `${message} ${plugin} ${app}`.toLowerCase().includes(part) ||
    (fields !== undefined && JSON.stringify(fields).toLowerCase().includes(part));
}

/** How the start before this one went, and who is to blame. */
function Last() {
  const { data } = useAsk<{ readonly lastStart: LastStart | null }>('/logs/last-start');
  const last = data?.lastStart;
  if (!last) return null;
  const { outcome, ts, suspects, problems, sku } = last;
  const badge = html`<${Badge} level=${OUTCOMES[outcome]}>${text(outcome)}<//>`;
  return html`<${Card} title=${text('lastStart')} aside=${badge}><p>${text(`${outcome}Text`)} ${ts === undefined ? '' : text('began', { when: whenText(ts), sku: clean(sku) })}</p>${suspects.length > 0 && html`<p>${text('suspects')} ${suspects.map((one, at) => html`${at > 0 ? ', ' : ''}<a href=${link('plugins', [one])}>${clean(one)}</a>`)}</p>`}${problems.length > 0 && html`<details><summary>${text('problems', { n: problems.length })}</summary><ul class="logs-problems">${problems.map((one, at) => html`<li key=${at}><span class="note">${one.level}${one.plugin ? ` ${one.plugin}` : ''}</span> ${clean(one.message)}</li>`)}</ul></details>`}<//>`;
}
