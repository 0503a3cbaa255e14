import { html } from 'htm/preact';
import type { ComponentChildren } from 'preact';
import { agoText, percentText } from '../../core/format.ts';
import { link } from '../../core/route.ts';
import { Bar } from '../../parts/bar.ts';
import { LinkButton } from '../../parts/button.ts';
import type { User } from '../../parts/costs.ts';
import { Badge, Card, Facts, Loading } from '../../parts/frame.ts';
import type { Level } from '../../parts/level.ts';
import type { Health } from '../../parts/shapes.ts';
import { identity, type Setting } from '../settings/model.ts';
import type { App, Change, Prompt, Refusal } from './shapes.ts';
import { text } from './text.ts';

const SHOWN = 3;
const more = (href: string, label: string) => html`<${LinkButton} kind="quiet" href=${href}>${label}<//>`;

/** State of the device at this moment. */
export function Now(props: {
  health: Health;
  display: { readonly app?: string; readonly power: string; readonly brightness: number } | undefined;
  audio: { readonly volume: number; readonly muted: boolean; readonly capturing: readonly string[] } | undefined;
  apps: readonly App[];
}) {
  const { display, audio, health, apps } = props;
  const front = display?.app;
  const rows: (readonly [string, ComponentChildren])[] = [];
  if (display !== undefined) {
    const title = apps.find(({ id }) => id === front)?.title ?? front;
    rows.push([
      text('foreground'),
      html`<a href=${front === undefined ? link('panel') : link('apps', [front])}>${title ?? text('home')}</a>`,
    ]);
    const lit = display.power === 'on' ? text('lit', { share: percentText(display.brightness, 0) }) : undefined;
    rows.push([text('screen'), lit ?? text(display.power === 'dim' ? 'dim' : 'dark')]);
  }
  if (audio !== undefined) {
    const hears = audio.capturing.map((one) => one.replace(/^plugin:/, '')).join(', ');
    const [level, word]: [Level, string] = audio.muted
      ? ['quiet', text('micMuted')]
      : hears === ''
        ? ['quiet', text('micIdle')]
        : ['info', text('micHeard', { who: hears })];
    rows.push([text('microphone'), html`<${Badge} level=${level}>${word}<//>`]);
    rows.push([text('volume'), percentText(audio.volume, 0)]);
  }
  const { link: bridge } = health.bridge;
  if (bridge !== 'down' || 'cbp' in health.components)
    rows.push([
      text('bridge'),
      html`<${Badge} level=${bridge === 'up' ? 'okay' : 'warn'}>${text(bridge === 'up' ? 'up' : bridge === 'resetting' ? 'resetting' : 'down')}<//>`,
    ]);
  return html`<${Card} title=${text('now')}><${Facts} rows=${rows} /><//>`;
}

/** The three that take most. */
export function Costs({ users }: { users: readonly User[] | undefined }) {
  const href = link('plugins', [], { view: 'cost' });
  const most = Math.max(1, users?.[0]?.percent ?? 1);
  return html`<${Card} title=${text('whatCosts')} aside=${more(href, text('all'))}>${users === undefined ? html`<${Loading} />` : html`<ol class="users">${users.slice(0, SHOWN).map(({ id, name, kind, percent, href: to }) => html`<li key=${id}><a href=${to}>${kind === 'core' ? text('core') : name}</a><span class="number">${percentText(percent / 100)}</span><${Bar} share=${percent / most} /></li>`)}</ol><p class="note">${text('minute')}</p>`}<//>`;
}

export function Refused({ there, refusals }: { there: boolean; refusals: readonly Refusal[] }) {
  if (!there) return null;
  const latest = refusals.slice(0, SHOWN);
  return html`<${Card} title=${text('refused')} aside=${more(link('denials'), text('why'))}>${latest.length === 0 ? html`<p class="note">${text('noRefusal')}</p>` : html`<ul class="lines">${latest.map(({ ts, caller, capability }) => html`<li key=${`${ts} ${capability}`}><span><a href=${link('denials', [], { of: caller.id })}>${caller.id}</a> <code>${capability}</code></span><span class="note">${agoText(ts)}</span></li>`)}</ul>`}<//>`;
}

export function Changed({ settings }: { settings: readonly Setting[] | undefined }) {
  if (settings === undefined) return null;
  const latest = settings.toSorted((a, b) => (b.setAt ?? 0) - (a.setAt ?? 0)).slice(0, SHOWN);
  const href = link('settings', [], { changed: '1' });
  return html`<${Card} title=${text('changed')} aside=${more(href, text('undo'))}>${latest.length === 0 ? html`<p class="note">${text('noSetting')}</p>` : html`<ul class="lines">${latest.map((one) => html`<li key=${identity(one)}><span><a href=${link('settings', [one.section.kind, one.section.id], { key: one.key })}><code>${nameOf(one)}</code></a> ${shown(one)}</span><span class="note">${one.setAt === undefined ? '' : agoText(one.setAt)}</span></li>`)}</ul>`}<//>`;
}

/** The key of an app's setting is its own: the same one may stand in another app. */
const nameOf = ({ section: { kind, id }, key }: Setting): string => (kind === 'app' ? `${id} ${key}` : key);

function shown({ secret, value }: Setting): string {
  if (secret) return '';
  const whole = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return whole.length > 40 ? `${whole.slice(0, 40)} …` : whole;
}

export function Apps({ there, apps }: { there: boolean; apps: readonly App[] }) {
  if (!there) return null;
  const by = (state: string) => apps.filter((one) => one.state === state);
  const bad = [...by('failed'), ...by('quarantined'), ...by('backoff')];
  const listed = [...bad, ...by('running')].slice(0, 6);
  return html`<${Card} title=${text('appsNow')} aside=${more(link('apps'), text('all'))}>${listed.length === 0 ? html`<p class="note">${text('noApp')}</p>` : html`<ul class="lines">${listed.map((app) => html`<li key=${app.id}><a href=${link('apps', [app.id])}>${app.title ?? app.name}</a><${Badge} level=${app.state === 'running' ? 'okay' : 'error'}>${app.state === 'running' ? text('running') : text('notWell')}<//></li>`)}</ul>`}<//>`;
}

/** Changes and prompts that wait for an answer; hidden when there are none. */
export function Pending({ changes, prompts }: { changes: readonly Change[]; prompts: readonly Prompt[] }) {
  if (changes.length + prompts.length === 0) return null;
  return html`<${Card} title=${text('pending')}><ul class="lines" role="status">${prompts.map(({ id, title, until }) => html`<li key=${id}><span>${text('asks', { title })}</span><span class="row"><span class="note">${text('until', { when: agoText(until) })}</span><${LinkButton} href=${link('apps', [], { tab: 'questions' })}>${text('answer')}<//></span></li>`)}${changes.map(({ id, summary, progress }) => html`<li key=${id}><span>${summary}</span><span class="row">${progress && html`<span class="note">${text('steps', { done: progress.done, of: progress.of })}</span>`}<${LinkButton} href=${link('changes', [id])}>${text('follow')}<//></span></li>`)}</ul><//>`;
}
