/** One app: how it is, what it may do, what it writes, how it is kept apart. */
import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { api } from '../../core/api.ts';
import { agoText, numberText, whenText } from '../../core/format.ts';
import { go, link } from '../../core/route.ts';
import { useAsk, useEvents } from '../../parts/ask.ts';
import { Button, LinkButton } from '../../parts/button.ts';
import { Dialog, Tabs } from '../../parts/dialog.ts';
import { ToggleField } from '../../parts/field.ts';
import { Answer, Badge, Card, Facts, Head } from '../../parts/frame.ts';
import { clean, Said } from '../../parts/said.ts';
import { common } from '../../parts/text.ts';
import { tell } from '../../parts/toast.ts';
import { Budgets } from './budgets.ts';
import { Grants } from './grants.ts';
import { AppLog } from './log.ts';
import { Questions } from './questions.ts';
import { Registered } from './registered.ts';
import { SandboxView } from './sandbox.ts';
import type { AppStatus, Description, Installed } from './shapes.ts';
import { levelOf, stateText } from './state.ts';
import { text } from './text.ts';

const TABS = ['state', 'grants', 'log', 'sandbox'] as const;

export function App({ id, tab }: { id: string; tab: string }) {
  const path = `/apps/${encodeURIComponent(id)}`;
  const status = useAsk<{ readonly app: AppStatus }>(path);
  const described = useAsk<Description>(`${path}/description`);
  const again = () => {
    status.reload();
    described.reload();
  };
  useEvents(['app.state', 'app.installed', 'app.removed', 'app.rolledback'], again, 300);
  const tabs = TABS.map((one) => [link('apps', [id], { tab: one }), text(`tab_${one}`), one === tab] as const);
  return html`<p><a href=${link('apps')}>← ${text('allApps')}</a></p><${Answer} of=${status}>${({
    app,
  }: {
    app: AppStatus;
  }) =>
    html`<${Head} title=${clean(app.title || app.id)} lead=${html`<code>${clean(app.id)}</code> ${clean(app.version)} <${Badge} level=${levelOf(app)}>${stateText(app.state)}<//>`} actions=${html`<${Actions} app=${app} described=${described.data} done=${again} />`} /><${Questions} of=${app.id} answered=${again} /><${Tabs} label=${clean(app.title || app.id)} tabs=${tabs} />${
      tab === 'grants'
        ? html`<${Grants} id=${app.id} />`
        : tab === 'log'
          ? html`<${AppLog} app=${app.id} />`
          : tab === 'sandbox'
            ? html`<${SandboxView} id=${app.id} />`
            : html`<${State} app=${app} described=${described.data} />`
    }`}<//>`;
}

function State({ app, described }: { app: AppStatus; described: Description | undefined }) {
  const { lastEnd, reason, complaint, health, leftOut } = app;
  const rows: [string, unknown][] = [
    [text('since'), html`<span title=${whenText(app.since)}>${agoText(app.since)}</span>`],
    ...(reason ? [[text('reason'), clean(reason)] as [string, unknown]] : []),
    ...(complaint ? [[text('complaint'), clean(complaint)] as [string, unknown]] : []),
    ...(health
      ? [
          [
            text('health'),
            html`${health.status}${health.message ? html`: <${Said} words=${health.message} />` : ''}`,
          ] as [string, unknown],
        ]
      : []),
    [text('restarts'), numberText(app.restarts)],
    ...(lastEnd
      ? [
          [
            text('lastEnd'),
            html`${clean(lastEnd.reason)} <span class="note">${text('ended', { n: lastEnd.count, ago: agoText(lastEnd.at) })}</span>`,
          ] as [string, unknown],
        ]
      : []),
    ...(app.pid ? [[text('process'), String(app.pid)] as [string, unknown]] : []),
    ...(described ? [[text('origin'), text(`from_${described.origin}`)] as [string, unknown]] : []),
    ...(described?.author ? [[text('author'), html`<${Said} words=${described.author} />`] as [string, unknown]] : []),
  ];
  return html`${app.state === 'quarantined' && html`<${Card} class="apps-warn" title=${text('quarantined')}><p>${text('quarantineText')}</p><//>`}${described?.description && html`<p>${text('saysOfItself')} <${Said} words=${described.description} /></p>`}<div class="columns"><${Card} title=${text('state')}><${Facts} rows=${rows} />${leftOut.length > 0 && html`<h3>${text('leftOut')}</h3><ul class="stack">${leftOut.map(({ part, reason: why, hint }) => html`<li key=${part}><code>${clean(part)}</code>: ${clean(why)}${hint && html` <code>${clean(hint)}</code>`}</li>`)}</ul>`}<//><${Budgets} id=${app.id} running=${app.state === 'running'} /></div><${Registered} id=${app.id} events=${described?.events} />`;
}

function Actions({ app, described, done }: { app: AppStatus; described: Description | undefined; done: () => void }) {
  const installed = useAsk<Installed>('/apps/installed');
  const [removing, setRemoving] = useState(false);
  const [purge, setPurge] = useState(false);
  const path = `/apps/${encodeURIComponent(app.id)}`;
  const verb = (name: 'start' | 'stop' | 'restart') => async () => {
    await api.post(`${path}/${name}`);
    done();
  };
  const change = async (name: string, body: object = {}) => {
    setRemoving(false);
    const begun = await api.post<{ readonly change: string }>(`${path}/${name}`, body);
    go('changes', [begun.change]);
  };
  const forget = async () => {
    await api.post(`${path}/forget`);
    tell(text('forgotten'));
    done();
  };
  const entry = installed.data?.apps.find((one) => one.id === app.id);
  const off = installed.data?.disabled.includes(app.id) ?? false;
  const active = ['running', 'starting', 'backoff'].includes(app.state);
  return html`${
    active
      ? html`<${Button} icon="undo" writes onClick=${verb('restart')}>${text('restart')}<//><${Button} icon="stop" writes onClick=${verb('stop')}>${text('stop')}<//>`
      : html`<${Button} kind="main" icon="play" writes disabled=${off} onClick=${verb('start')}>${text('start')}<//>`
  }${described?.hasSettings && html`<${LinkButton} icon="settings" href=${link('settings', ['app', app.id])}>${text('settings')}<//>`}${described?.origin === 'trial' && html`<${Button} icon="undo" writes onClick=${forget}>${text('forget')}<//>`}${entry && html`<${LinkButton} icon="upload" href=${link('apps', ['install'], { of: app.id })}>${text('update')}<//>`}${entry?.former && html`<${Button} writes onClick=${() => change('rollback')}>${text('rollback', { version: entry.former.version })}<//>`}${installed.data && html`<${Button} writes onClick=${() => change('switch', { enabled: off })}>${text(off ? 'switchOn' : 'switchOff')}<//>`}${entry && html`<${Button} kind="danger" icon="trash" writes onClick=${() => setRemoving(true)}>${common('remove')}<//>`}${removing && html`<${Dialog} title=${text('removeTitle', { app: clean(app.title || app.id) })} onClose=${() => setRemoving(false)} actions=${html`<${Button} onClick=${() => setRemoving(false)}>${common('cancel')}<//><${Button} kind="danger" writes onClick=${() => change('remove', { purge })}>${common('remove')}<//>`}><p>${text('removeText')}</p><${ToggleField} label=${text('purge')} value=${purge} onChange=${setPurge} /><//>`}`;
}
