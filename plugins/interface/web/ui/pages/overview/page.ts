/** The start page: is it well, and if not, what to do; then what the device does now. */
import { html } from 'htm/preact';
import { bytesText, durationText, numberText, percentText } from '../../core/format.ts';
import { link } from '../../core/route.ts';
import { sheet, useAsk, useEvents } from '../../parts/ask.ts';
import { LinkButton } from '../../parts/button.ts';
import { type Row, rowsOf, type Trouble, troublesOf } from '../../parts/condition.ts';
import { type Load, useLoad } from '../../parts/costs.ts';
import { Answer, Figure, Head } from '../../parts/frame.ts';
import { Icon } from '../../parts/icon.ts';
import { clean } from '../../parts/said.ts';
import type { Health, Plugin } from '../../parts/shapes.ts';
import { Apps, Changed, Costs, Now, Pending, Refused } from './cards.ts';
import type { App, Change, Prompt, Refusal, Setting } from './shapes.ts';
import { text } from './text.ts';

sheet('pages/overview/overview.css');

const HOUR_MS = 3_600_000;
/** Topics after which something here is another. */
const TOPICS = [
  ...['plugin.state', 'plugin.changed', 'app.state', 'app.installed', 'app.removed', 'bridge.link', 'display.state'],
  ...['audio.capture', 'audio.volume', 'config.changed', 'change.state', 'prompt.state', 'system.refused'],
] as const;

export function Page() {
  const about = useAsk<{ readonly version: string; readonly sku: { readonly id: string; readonly title: string } }>(
    '/version',
  );
  const device = useAsk<{ readonly serial?: string }>('/device');
  const health = useAsk<Health>('/health');
  const plugins = useAsk<{ readonly plugins: readonly Plugin[] }>('/plugins');
  const apps = useAsk<{ readonly apps: readonly App[] }>('/apps');
  const settings = useAsk<{ readonly entries: readonly Setting[] }>('/config');
  const changes = useAsk<{ readonly changes: readonly Change[] }>('/changes');
  const prompts = useAsk<{ readonly prompts: readonly Prompt[] }>('/prompts');
  const refusals = useAsk<{ readonly refusals: readonly Refusal[] }>('/refusals', { limit: 256 });
  const display = useAsk<{ readonly app?: string; readonly power: string; readonly brightness: number }>('/display');
  const audio = useAsk<{ readonly volume: number; readonly muted: boolean; readonly capturing: readonly string[] }>(
    '/audio',
  );
  const load = useLoad(10_000);
  useEvents(TOPICS, (items) => {
    // After a gap nobody knows what happened.
    const all = items.length === 0;
    const came = new Set(items.map(({ data }) => String(Object(data).topic).split('.')[0]));
    const ask = (what: { reload(): void }, ...families: readonly string[]) => {
      if (all || families.some((one) => came.has(one))) what.reload();
    };
    ask(health, 'plugin', 'bridge');
    ask(plugins, 'plugin');
    ask(apps, 'app');
    ask(settings, 'config');
    ask(changes, 'change');
    ask(prompts, 'prompt');
    ask(display, 'display');
    ask(audio, 'audio');
    ask(refusals, 'system');
  });
  const recent = (refusals.data?.refusals ?? []).filter(({ ts }) => Date.now() - ts < HOUR_MS);
  const changed = (settings.data?.entries ?? []).filter(({ source }) => source === 'app' || source === 'device');
  const underWay = (changes.data?.changes ?? []).filter(({ endedAt }) => endedAt === undefined);
  const open = prompts.data?.prompts ?? [];
  const sku = about.data?.sku;
  const { serial } = device.data ?? {};
  const lead =
    about.data && health.data
      ? `${text('lead', { sku: sku!.id, version: about.data.version, time: durationText(health.data.uptimeMs) })}${serial === undefined ? '' : ` · ${text('serial', { serial: clean(serial) })}`}`
      : undefined;
  return html`<${Head} title=${sku?.title ?? text('title')} lead=${lead} /><${Answer} of=${health}>${(data: Health) =>
    html`<${Well} health=${data} rows=${rowsOf(plugins.data?.plugins ?? [], data)} /><${Pending} changes=${underWay} prompts=${open} /><div class="figures"><${Cpu} load=${load.data} /><${Memory} load=${load.data} />${apps.data && html`<${Figure} label=${text('appsRun')} value=${html`<a href=${link('apps')}>${numberText(apps.data.apps.filter(({ state }) => state === 'running').length)}</a>`} note=${text('ofInstalled', { n: apps.data.apps.length })} />`}${refusals.data && html`<${Figure} label=${text('refusedHour')} level=${recent.length > 0 ? 'warn' : undefined} value=${html`<a href=${link('denials')}>${numberText(recent.length)}</a>`} note=${text('whyRefused')} />`}${settings.data && html`<${Figure} label=${text('changedHere')} value=${html`<a href=${link('settings', [], { changed: '1' })}>${numberText(changed.length)}</a>`} note=${text('undo')} />`}</div><div class="grid overview"><${Now} health=${data} display=${display.data} audio=${audio.data} apps=${apps.data?.apps ?? []} /><${Costs} users=${load.users} /><${Refused} there=${refusals.data !== undefined} refusals=${recent} /><${Changed} there=${settings.data !== undefined} settings=${changed} /><${Apps} there=${apps.data !== undefined} apps=${apps.data?.apps ?? []} /></div>`}<//>`;
}

/** One sentence when all is well; else each trouble with its reason and what to do. */
function Well({ health, rows }: { health: Health; rows: readonly Row[] }) {
  const troubles = troublesOf(rows, health);
  if (troubles.length === 0)
    return html`<section class="well okay" role="status"><span class="well-sign"><${Icon} name="check" size=${26} /></span><div><h2>${text('allWell')}</h2><p class="note">${rows.length > 0 ? text('allRun', { n: rows.filter(({ state }) => state === 'active').length }) : ''}</p></div></section>`;
  const bad = troubles.some(({ level }) => level === 'error');
  return html`<section class=${`well ${bad ? 'error' : 'warn'}`} aria-label=${text('troubles', { n: troubles.length })}><span class="well-sign"><${Icon} name="warn" size=${26} /></span><div role="status"><h2>${text('troubles', { n: troubles.length })}</h2>${troubles.length > 6 && html`<p class="note">${text('worst')}</p>`}<ul class="troubles">${troubles.slice(0, 6).map((one) => html`<${Wrong} key=${one.id} trouble=${one} />`)}</ul></div></section>`;
}

function Wrong({ trouble }: { trouble: Trouble }) {
  const { id, what, why, remedy, href } = trouble;
  return html`<li><div><p><strong>${what}</strong></p>${why && html`<p class="note">${why}</p>`}<p class="note">${remedy}</p></div><${LinkButton} href=${href}>${text('lookAt', { id })}<//></li>`;
}

function Cpu({ load }: { load: Load | undefined }) {
  if (load === undefined) return null;
  const { minutePercent, processors } = load.core;
  const share = minutePercent / 100 / processors;
  return html`<${Figure} label=${text('cpu')} level=${share > 0.7 ? 'warn' : undefined} value=${html`<a href=${link('plugins', [], { view: 'cost' })}>${percentText(share)}</a>`} note=${text('ofProcessors', { n: processors })} />`;
}

function Memory({ load }: { load: Load | undefined }) {
  if (load === undefined) return null;
  const { residentBytes, memory } = load.core;
  const low = memory.availableBytes < memory.totalBytes * 0.08;
  return html`<${Figure} label=${text('memory')} level=${low ? 'warn' : undefined} value=${bytesText(residentBytes)} note=${text('free', { bytes: bytesText(memory.availableBytes) })} />`;
}
