/** How an app is kept apart, in words: what it sees, where it may go, and who holds it to that. */
import { html } from 'htm/preact';
import { bytesText, numberText, percentText } from '../../core/format.ts';
import { useAsk, useEvents } from '../../parts/ask.ts';
import { Answer, Badge, Card, Facts } from '../../parts/frame.ts';
import type { Level } from '../../parts/level.ts';
import { clean } from '../../parts/said.ts';
import { text } from './text.ts';

interface Spec {
  readonly network: 'none' | 'hosts' | 'open';
  readonly hosts: readonly { readonly host: string; readonly ports: readonly number[] }[];
  readonly listen: boolean;
  readonly devices: readonly { readonly name: string; readonly path: string; readonly access: 'r' | 'rw' }[];
  readonly data?: string;
  readonly cache?: string;
  readonly runtime: string;
  readonly uid?: number;
  readonly code: string;
  readonly limits: Readonly<Record<string, number>>;
}
interface Sandbox {
  readonly spec: Spec;
  readonly problem?: string;
}
type Enforced = 'kernel' | 'watched' | 'none';
interface Doctor {
  readonly by: string;
  readonly insecure: boolean;
  readonly kinds: readonly {
    readonly kind: 'user' | 'files' | 'devices' | 'network' | 'syscalls' | 'memory' | 'tasks' | 'mac';
    readonly enforced: Enforced;
    readonly lacking?: boolean;
    readonly reason?: string;
    readonly remedy?: string;
  }[];
}

const LEVEL: Readonly<Record<Enforced, Level>> = { kernel: 'okay', watched: 'info', none: 'warn' };

export function SandboxView({ id }: { id: string }) {
  const sandbox = useAsk<Sandbox>(`/apps/${encodeURIComponent(id)}/sandbox`);
  const doctor = useAsk<Doctor>('/apps/doctor');
  useEvents(['app.state', 'app.installed'], sandbox.reload, 500);
  return html`<div class="columns"><${Card} title=${text('sees')}><${Answer} of=${sandbox}>${({ spec, problem }: Sandbox) => html`${problem !== undefined && html`<p class="apps-bad">${text('noRun', { reason: clean(problem) })}</p>`}<${Facts} rows=${rows(spec)} />`}<//><//><${Card} title=${text('holds')}><${Answer} of=${doctor}>${(found: Doctor) => html`${found.insecure && html`<p class="apps-bad">${text('insecure')}</p>`}<ul class="apps-walls">${found.kinds.map(({ kind, enforced, reason, remedy }) => html`<li key=${kind}><span class="apps-claim-head"><strong>${text(`wall_${kind}`)}</strong><${Badge} level=${LEVEL[enforced]}>${text(`by_${enforced}`)}<//></span>${reason && html`<span class="note">${clean(reason)}</span>`}${remedy && enforced === 'none' && html`<span class="note">${text('remedy', { remedy: clean(remedy) })}</span>`}</li>`)}</ul>`}<//><//></div>`;
}

function rows(spec: Spec) {
  const { network, hosts, listen, devices, data, cache, uid, limits, runtime, code } = spec;
  const list = (all: readonly string[]) =>
    html`<ul class="apps-list">${all.map((one) => html`<li key=${one}><code>${clean(one)}</code></li>`)}</ul>`;
  const ways =
    network === 'open'
      ? text(listen ? 'netListen' : 'netOpen')
      : network === 'hosts'
        ? html`${text('netHosts')}${list(hosts.map(({ host, ports }) => `${host}: ${ports.join(', ')}`))}`
        : text('netNone');
  return [
    [text('network'), ways],
    [text('files'), text(data === undefined ? 'filesNone' : cache === undefined ? 'filesData' : 'filesOwn')],
    [text('code'), html`<code>${clean(code)}</code> <span class="note">${text('readOnly')}</span>`],
    [
      text('devices'),
      devices.length === 0
        ? text('devicesNone')
        : list(devices.map(({ name, path, access }) => `${name} ${path} ${access}`)),
    ],
    [text('user'), uid === undefined ? text('userCore') : text('userOwn', { uid: String(uid) })],
    [text('runtime'), clean(runtime)],
    [
      text('limits'),
      html`<ul class="apps-limits">${limitTexts(limits).map((one) => html`<li key=${one}>${one}</li>`)}</ul>`,
    ],
  ] as const;
}

function limitTexts({
  memoryMaxMB,
  cpuPercent,
  tasksMax,
  storageMB,
  cacheMB,
  openFiles,
  logKBps,
}: Spec['limits']): readonly string[] {
  const megabytes = (value: number) => bytesText(value * 1e6);
  return [
    ...(memoryMaxMB === undefined ? [] : [`${text('memory')} ${megabytes(memoryMaxMB)}`]),
    ...(cpuPercent === undefined ? [] : [`${text('cpu')} ${percentText(cpuPercent / 100)}`]),
    ...(tasksMax === undefined ? [] : [`${text('tasks')} ${numberText(tasksMax)}`]),
    ...(storageMB === undefined ? [] : [`${text('storage')} ${megabytes(storageMB)}`]),
    ...(cacheMB === undefined ? [] : [`${text('cache')} ${megabytes(cacheMB)}`]),
    ...(openFiles === undefined ? [] : [`${text('openFiles')} ${numberText(openFiles)}`]),
    ...(logKBps === undefined ? [] : [`${text('tab_log')} ${text('perSecond', { size: bytesText(logKBps * 1000) })}`]),
  ];
}
