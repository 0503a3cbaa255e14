/** One plugin: how it is, what it needs and gives, what it takes, what happened to it, and what one can do. */
import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { api } from '../../core/api.ts';
import { agoText, bytesText, durationText, percentText, timeText } from '../../core/format.ts';
import { link } from '../../core/route.ts';
import { useEvents } from '../../parts/ask.ts';
import { Button, LinkButton } from '../../parts/button.ts';
import { condition, levelOf, type Row, stateText, troubleOf } from '../../parts/condition.ts';
import { useLoad } from '../../parts/costs.ts';
import { Dialog } from '../../parts/dialog.ts';
import { Badge, Card, Empty, Facts, Head } from '../../parts/frame.ts';
import { Icon } from '../../parts/icon.ts';
import type { PluginState } from '../../parts/shapes.ts';
import { common } from '../../parts/text.ts';
import { tell } from '../../parts/toast.ts';
import { edgesOf } from './layout.ts';
import { saysOf } from './list.ts';
import { text } from './text.ts';

type Verb = 'restart' | 'enable' | 'disable' | 'release' | 'off';

export function One({ id, rows }: { id: string; rows: readonly Row[] }) {
  const row = rows.find((one) => one.id === id);
  if (row === undefined)
    return html`<${Head} title=${id} /><${Empty} title=${text('none')}><${LinkButton} href=${link('plugins')}>${text('all')}<//><//>`;
  const trouble = troubleOf(row);
  const aside = html`<${LinkButton} kind="quiet" href=${link('settings', ['plugin', id])} icon="settings">${text('settings')}<//><${LinkButton} kind="quiet" href=${link('logs', [], { plugin: id })} icon="logs">${text('log')}<//>`;
  return html`<${Head} title=${id} lead=${row.summary} actions=${html`<${LinkButton} kind="quiet" href=${link('plugins')}>${text('all')}<//>${aside}`} />${trouble && html`<div class="problem" role="status"><${Icon} name="warn" /><div><p><strong>${trouble.what}</strong></p>${trouble.why && html`<p>${trouble.why}</p>`}<p class="note">${trouble.remedy}</p></div></div>`}<${Acts} row=${row} rows=${rows} /><div class="grid"><${State} row=${row} /><${Takes} id=${id} /><${Ties} row=${row} rows=${rows} /><${Happened} id=${id} /></div>`;
}

function State({ row }: { row: Row }) {
  const { version, isolation, essential, since, generation, restarts, startMs, nextStartAt, lastError, said } = row;
  const facts = [
    [text('state'), html`<${Badge} level=${levelOf(row)}>${stateText(row)}<//>`],
    [text('says'), saysOf(row) || '–'],
    ...(said?.warning ? [[text('warned'), said.warning.message]] : []),
    [text('since'), agoText(since)],
    [text('version'), version],
    [text('isolation'), text(isolation)],
    [text('essential'), essential ? text('isEssential') : common('no')],
    [text('starts'), text('startsTold', { n: generation, time: durationText(startMs ?? 0) })],
    ...(restarts ? [[text('restarts'), String(restarts)]] : []),
    ...(nextStartAt === undefined ? [] : [[text('nextStart'), timeText(nextStartAt)]]),
    ...(lastError ? [[text('lastError'), `${lastError.message} (${lastError.code}), ${agoText(lastError.at)}`]] : []),
  ];
  return html`<${Card} title=${text('state')}><${Facts} rows=${facts} /><//>`;
}

function Takes({ id }: { id: string }) {
  const load = useLoad(5_000);
  const usage = load.data?.plugins.find(({ plugin }) => plugin === id);
  const facts = usage && [
    [text('share'), percentText((usage.minutePercent ?? 0) / 100)],
    [text('memory'), usage.heapBytes === undefined ? text('within') : bytesText(usage.heapBytes)],
    [text('longest'), durationText(usage.longestMs)],
    [text('stalls'), String(usage.stalls)],
    [text('errors'), String(usage.errors)],
  ];
  const more = html`<${LinkButton} kind="quiet" href=${link('plugins', [], { view: 'cost' })}>${text('cost')}<//>`;
  return html`<${Card} title=${text('takes')} aside=${more}>${facts ? html`<${Facts} rows=${facts} />` : html`<p class="note">${text('neverRan')}</p>`}<//>`;
}

/** Providers of the services it requires, and dependents of the services it provides. */
function Ties({ row, rows }: { row: Row; rows: readonly Row[] }) {
  const giver = (service: string) => rows.find(({ provides = {} }) => service in provides)?.id;
  const users = (service: string) => rows.filter(({ requires = {} }) => service in requires).map(({ id }) => id);
  const names = (ids: readonly string[]) =>
    html`<span class="names">${ids.map((id) => html`<a key=${id} href=${link('plugins', [id])}>${id}</a>`)}</span>`;
  const needs = Object.keys(row.requires ?? {}).map((service) => {
    const from = giver(service);
    return [service, from === undefined ? text('kernel') : html`${text('by')} ${names([from])}`];
  });
  const gives = Object.keys(row.provides ?? {}).map((service) => {
    const ids = users(service);
    return [service, ids.length === 0 ? text('unused') : html`${text('to')} ${names(ids)}`];
  });
  return html`<${Card} title=${text('ties')}><h3>${text('needs')}</h3>${needs.length === 0 ? html`<p class="note">${text('empty')}</p>` : html`<${Facts} rows=${needs} />`}<h3>${text('gives')}</h3>${gives.length === 0 ? html`<p class="note">${text('empty')}</p>` : html`<${Facts} rows=${gives} />`}<//>`;
}

interface Happening {
  readonly at: number;
  readonly state: PluginState;
  readonly reason?: string;
}

/** Its changes of state while this page is open, the newest first. */
function Happened({ id }: { id: string }) {
  const [seen, setSeen] = useState<readonly Happening[]>([]);
  useEvents(['plugin.state'], (items) => {
    const mine = items
      .map(({ data }) => data as { readonly ts: number; readonly payload: Happening & { readonly plugin: string } })
      .filter(({ payload }) => payload.plugin === id)
      .map(({ ts, payload: { state, reason } }) => ({ at: ts, state, ...(reason !== undefined && { reason }) }));
    if (mine.length > 0) setSeen((now) => [...mine.reverse(), ...now].slice(0, 30));
  });
  const more = html`<${LinkButton} kind="quiet" href=${link('events', [], { filter: 'plugin.state' })}>${text('events')}<//>`;
  return html`<${Card} title=${text('happened')} aside=${more}>${seen.length === 0 ? html`<p class="note">${text('quiet')}</p>` : html`<ol class="happened" role="log">${seen.map(({ at, state, reason }, place) => html`<li key=${`${at} ${place}`}><span class="note">${timeText(at)}</span> <strong>${condition(state)}</strong>${reason && html` <span>${reason}</span>`}</li>`)}</ol>`}<//>`;
}

/** Acts on a plugin; one that stops others as well asks first. */
function Acts({ row, rows }: { row: Row; rows: readonly Row[] }) {
  const [asked, setAsked] = useState<Verb | undefined>(undefined);
  const { id, state } = row;
  const after = dependents(id, rows);
  const act = async (verb: Verb) => {
    if (verb === 'off') await api.post(`/plugins/${id}/switch`, { enabled: false });
    else await api.post(`/plugins/${id}/${verb}`);
    setAsked(undefined);
    tell(text(`done-${verb}`, { id }));
  };
  const up = state === 'active' || state === 'starting' || state === 'waiting';
  const bad = state === 'failed' || state === 'quarantined';
  const sure =
    asked &&
    html`<${Dialog} title=${text(`sure-${asked}`, { id })} onClose=${() => setAsked(undefined)} actions=${html`<${Button} onClick=${() => setAsked(undefined)}>${common('cancel')}<//><${Button} kind=${asked === 'restart' ? 'main' : 'danger'} writes onClick=${() => act(asked)}>${text(asked)}<//>`}><p>${text(`lead-${asked === 'off' ? 'off' : asked === 'disable' ? 'disable' : 'restart'}`)}</p>${after.length > 0 && html`<p>${text('stopsToo', { n: after.length, names: after.join(', ') })}</p>`}<//>`;
  return html`<div class="actions">${bad && html`<${Button} kind="main" icon="play" writes onClick=${() => act('release')}>${text('release')}<//>`}${up && html`<${Button} icon="changes" writes onClick=${() => (after.length > 0 || row.essential ? setAsked('restart') : act('restart'))}>${text('restart')}<//><${Button} icon="stop" writes onClick=${() => setAsked('disable')}>${text('disable')}<//><${Button} kind="quiet" writes onClick=${() => setAsked('off')}>${text('off')}<//>`}${state === 'stopped' && html`<${Button} kind="main" icon="play" writes onClick=${() => act('enable')}>${text('enable')}<//>`}</div>${sure}`;
}

/** Those that stop when it stops. */
function dependents(id: string, rows: readonly Row[]): readonly string[] {
  const edges = edgesOf(rows);
  const found = new Set([id]);
  for (const one of found) for (const { from, to } of edges) if (from === one) found.add(to);
  found.delete(id);
  return [...found].toSorted();
}
