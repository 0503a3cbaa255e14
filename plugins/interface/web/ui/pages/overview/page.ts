/** The start page: is it well, and if not, what to do; then what the device does now. */
import { html } from 'htm/preact';
import { bytesText, durationText, numberText, percentText } from '../../core/format.ts';
import { away } from '../../core/live.ts';
import { link } from '../../core/route.ts';
import { sheet, useAsk, useEvents } from '../../parts/ask.ts';
import { type Row, troublesOf } from '../../parts/condition.ts';
import { type Load, useLoad } from '../../parts/costs.ts';
import { Answer, Figure, Head } from '../../parts/frame.ts';
import { Icon } from '../../parts/icon.ts';
import { clean } from '../../parts/said.ts';
import type { Health } from '../../parts/shapes.ts';
import { Troubles } from '../../parts/troubles.ts';
import { useCondition } from '../../parts/use-condition.ts';
import type { Section, Setting } from '../settings/model.ts';
import { Apps, Changed, Costs, Now, Pending, Refused } from './cards.ts';
import type { App, Change, Prompt, Refusal } from './shapes.ts';
import { text } from './text.ts';

sheet('pages/overview/overview.css');

const HOUR_MS = 3_600_000;
/** Topics after which something here is another. */
const TOPICS = [
  ...['plugin.changed', 'app.state', 'app.installed', 'app.removed', 'display.state'],
  ...['audio.capture', 'audio.volume', 'config.changed', 'change.state', 'prompt.state', 'system.refused'],
] as const;

export function Page() {
  const about = useAsk<{ readonly version: string; readonly sku: { readonly id: string; readonly title: string } }>(
    '/version',
  );
  const device = useAsk<{ readonly serial?: string }>('/device');
  const { health, rows } = useCondition();
  const apps = useAsk<{ readonly apps: readonly App[] }>('/apps');
  // Overrides lie in the sections of apps and plugins, too: those of the device alone would be a part of them.
  const sections = useAsk<{ readonly sections: readonly Section[] }>('/config-sections');
  const settings = useAsk<{ readonly keys: readonly Setting[] }>('/config-descriptions', { overridesOnly: true });
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
    const ask = (what: { reload(cause: unknown): void }, ...families: readonly string[]) => {
      if (all || families.some((one) => came.has(one))) what.reload(items);
    };
    ask(apps, 'app');
    ask(sections, 'config', 'app', 'plugin');
    ask(settings, 'config', 'app', 'plugin');
    ask(changes, 'change');
    ask(prompts, 'prompt');
    ask(display, 'display');
    ask(audio, 'audio');
    ask(refusals, 'system');
  });
  const recent = (refusals.data?.refusals ?? []).filter(({ ts }) => Date.now() - ts < HOUR_MS);
  const changed = sections.data?.sections.reduce((sum, { overrides }) => sum + overrides, 0);
  const underWay = (changes.data?.changes ?? []).filter(({ endedAt }) => endedAt === undefined);
  const open = prompts.data?.prompts ?? [];
  const sku = about.data?.sku;
  const { serial } = device.data ?? {};
  const lead =
    about.data && health.data
      ? `${text('lead', { sku: sku!.id, version: about.data.version, time: durationText(health.data.uptimeMs) })}${serial === undefined ? '' : ` · ${text('serial', { serial: clean(serial) })}`}`
      : undefined;
  return html`<${Head} title=${sku?.title ?? text('title')} lead=${lead} /><${Answer} of=${health}>${(data: Health) =>
    html`<${Well} health=${data} rows=${rows} /><${Pending} changes=${underWay} prompts=${open} /><div class="figures"><${Cpu} load=${load.data} /><${Memory} load=${load.data} />${apps.data && html`<${Figure} label=${text('appsRun')} href=${link('apps')} value=${numberText(apps.data.apps.filter(({ state }) => state === 'running').length)} note=${text('ofInstalled', { n: apps.data.apps.length })} />`}${refusals.data && html`<${Figure} label=${text('refusedHour')} href=${link('denials')} level=${recent.length > 0 ? 'warn' : undefined} value=${numberText(recent.length)} note=${text('whyRefused')} />`}${changed !== undefined && html`<${Figure} label=${text('changedHere')} href=${link('settings', [], { changed: '1' })} value=${numberText(changed)} note=${text('undo')} />`}</div><div class="grid overview"><${Now} health=${data} display=${display.data} audio=${audio.data} apps=${apps.data?.apps ?? []} /><${Costs} users=${load.users} /><${Refused} there=${refusals.data !== undefined} refusals=${recent} /><${Changed} settings=${settings.data?.keys} /><${Apps} there=${apps.data !== undefined} apps=${apps.data?.apps ?? []} /></div>`}<//>`;
}

/** One sentence when all is well; else each trouble with its reason and what to do. While the device is away, what was known last. */
function Well({ health, rows }: { health: Health; rows: readonly Row[] }) {
  const troubles = troublesOf(rows, health);
  const running = rows.filter(({ state }) => state === 'active').length;
  const starts = rows.some(({ settling }) => settling);
  const progress = { n: running, of: rows.length };
  const stops = rows.some(({ state }) => state === 'stopping') && !rows.some(({ state }) => state === 'starting');
  const moving = text(stops ? 'stopping' : 'starting');
  if (troubles.length === 0) {
    const [title, note] = starts
      ? [moving, text('startingHow', progress)]
      : [text('allWell'), rows.length > 0 ? text('allRun', progress) : ''];
    return html`<section class=${`well ${starts ? 'quiet' : 'okay'}`} role="status"><${Sign} icon=${starts ? 'power' : 'check'} /><div><h2>${title}</h2><p class="note">${away.value ? text('lastKnown') : note}</p></div></section>`;
  }
  const bad = troubles.some(({ level }) => level === 'error');
  const count = text('troubles', { n: troubles.length });
  return html`<section class=${`well ${bad ? 'error' : 'warn'}`} aria-label=${count}><${Sign} icon="warn" /><div role="status"><h2>${count}</h2>${away.value && html`<p class="note">${text('lastKnown')}</p>`}${starts && html`<p class="note">${moving} ${text('startingHow', progress)}</p>`}${troubles.length > 6 && html`<p class="note">${text('worst')}</p>`}<${Troubles} troubles=${troubles} /></div></section>`;
}

const Sign = ({ icon }: { icon: 'power' | 'check' | 'warn' }) =>
  html`<span class="well-sign"><${Icon} name=${icon} size=${26} /></span>`;

function Cpu({ load }: { load: Load | undefined }) {
  if (load === undefined) return null;
  const { minutePercent, processors } = load.core;
  const share = minutePercent / 100 / processors;
  return html`<${Figure} label=${text('cpu')} level=${share > 0.7 ? 'warn' : undefined} href=${link('plugins', [], { view: 'cost' })} value=${percentText(share)} note=${text('ofProcessors', { n: processors })} />`;
}

function Memory({ load }: { load: Load | undefined }) {
  if (load === undefined) return null;
  const { residentBytes, memory } = load.core;
  const low = memory.availableBytes < memory.totalBytes * 0.08;
  return html`<${Figure} label=${text('memory')} level=${low ? 'warn' : undefined} value=${bytesText(residentBytes)} note=${text('free', { bytes: bytesText(memory.availableBytes) })} />`;
}
