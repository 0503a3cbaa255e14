import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { api } from '../../core/api.ts';
import { agoText } from '../../core/format.ts';
import { go, link } from '../../core/route.ts';
import { useAsk, useEvents } from '../../parts/ask.ts';
import { Button } from '../../parts/button.ts';
import { Dialog } from '../../parts/dialog.ts';
import { TextField } from '../../parts/field.ts';
import { Answer, Badge, Card, Facts } from '../../parts/frame.ts';
import { sentenceOf } from '../../parts/right.ts';
import { Table } from '../../parts/table.ts';
import { common } from '../../parts/text.ts';
import { tell } from '../../parts/toast.ts';
import { text } from './text.ts';

interface InstalledPlugin {
  readonly id: string;
  readonly version: string;
  readonly state: 'probation' | 'good';
  readonly isolation: string;
  readonly enabled: boolean;
  readonly installedAt: number;
  readonly probationEndsAt?: number;
  readonly lastGood?: { readonly version?: string };
  readonly former?: { readonly version?: string };
  readonly running?: { readonly version: string; readonly state: string; readonly reason?: string };
}

interface RolledBack {
  readonly id: string;
  readonly version: string;
  readonly reason: string;
  readonly at: number;
}

interface Listing {
  readonly plugins: readonly InstalledPlugin[];
  readonly rolledBack: readonly RolledBack[];
  readonly disabled: readonly string[];
}

/** Plugins installed on this device, and failed ones with the reason. */
export function Installed() {
  const listing = useAsk<Listing>('/plugins/installed');
  useEvents(['plugin.state', 'plugin.changed', 'change.state'], listing.reload);
  return html`<${Answer} of=${listing}>${(data: Listing) => html`<${Mine} plugins=${data.plugins} onDone=${listing.reload} /><${Back} rolledBack=${data.rolledBack} />${data.disabled.length > 0 && html`<${Off} ids=${data.disabled} onDone=${listing.reload} />`}<${Install} />`}<//>`;
}

function Mine({ plugins, onDone }: { plugins: readonly InstalledPlugin[]; onDone: () => void }) {
  const [removing, setRemoving] = useState<string | undefined>(undefined);
  const back = async (id: string) => {
    const { change } = await api.post<{ readonly change: string }>(`/plugins/${id}/rollback`);
    go('changes', [change]);
  };
  const remove = async (id: string) => {
    await api.post(`/plugins/${id}/remove`);
    setRemoving(undefined);
    tell(text('removed', { id }));
    onDone();
  };
  const columns = [
    { title: text('plugin'), cell: ({ id }: InstalledPlugin) => html`<a href=${link('plugins', [id])}>${id}</a>` },
    { title: text('version'), cell: ({ version }: InstalledPlugin) => version },
    {
      title: text('state'),
      cell: ({ state, probationEndsAt, enabled }: InstalledPlugin) =>
        html`<${Badge} level=${!enabled ? 'quiet' : state === 'good' ? 'okay' : 'info'}>${!enabled ? text('switchedOff') : text(state)}<//>${probationEndsAt !== undefined && html` <span class="note">${text('provenIn', { when: agoText(probationEndsAt) })}</span>`}`,
    },
    { title: text('since'), cell: ({ installedAt }: InstalledPlugin) => agoText(installedAt) },
    {
      title: text('do'),
      cell: ({ id, former, lastGood }: InstalledPlugin) =>
        html`<span class="row">${(former ?? lastGood) && html`<${Button} icon="undo" writes onClick=${() => back(id)}>${text('backTo', { version: (former ?? lastGood)?.version ?? '' })}<//>`}<${Button} kind="danger" writes onClick=${() => setRemoving(id)}>${common('remove')}<//></span>`,
    },
  ];
  const sure =
    removing !== undefined &&
    html`<${Dialog} title=${text('removeSure', { id: removing })} onClose=${() => setRemoving(undefined)} actions=${html`<${Button} onClick=${() => setRemoving(undefined)}>${common('cancel')}<//><${Button} kind="danger" writes onClick=${() => remove(removing)}>${common('remove')}<//>`}><p>${text('removeLead')}</p><//>`;
  return html`<${Card} title=${text('installed')}><${Table} label=${text('installed')} columns=${columns} rows=${plugins} rowKey=${({ id }: InstalledPlugin) => id} empty=${text('noneInstalled')} /><//>${sure}`;
}

function Back({ rolledBack }: { rolledBack: readonly RolledBack[] }) {
  const columns = [
    { title: text('plugin'), cell: ({ id }: RolledBack) => id },
    { title: text('version'), cell: ({ version }: RolledBack) => version },
    { title: text('whyBack'), cell: ({ reason }: RolledBack) => reason },
    { title: text('when'), cell: ({ at }: RolledBack) => agoText(at) },
  ];
  return html`<${Card} title=${text('rolledBack')}><${Table} label=${text('rolledBack')} columns=${columns} rows=${rolledBack} rowKey=${({ id }: RolledBack) => id} empty=${text('noneBack')} /><//>`;
}

function Off({ ids, onDone }: { ids: readonly string[]; onDone: () => void }) {
  const on = async (id: string) => {
    await api.post(`/plugins/${id}/switch`, { enabled: true });
    onDone();
  };
  return html`<${Card} title=${text('switchedOff')}><${Facts} rows=${ids.map((id) => [id, html`<${Button} writes onClick=${() => on(id)}>${text('switchOn')}<//>`])} /><//>`;
}

/** From a folder or a package on the device: what it asks for is shown before anything is done. */
function Install() {
  const [source, setSource] = useState('');
  const [checked, setChecked] = useState<Checked | undefined>(undefined);
  const check = async () => setChecked(await api.post<Checked>('/plugins/install', { source, check: true }));
  const install = async () => {
    const { change } = await api.post<{ readonly change: string }>('/plugins/install', {
      source,
      accept: checked!.digest,
    });
    setChecked(undefined);
    go('changes', [change]);
  };
  const list = (all: readonly string[]) => (all.length === 0 ? text('empty') : all.join(', '));
  const words = (name: string) =>
    sentenceOf({
      kind: 'service',
      name,
      summary: checked?.added.find((one) => one.endsWith(`(service ${name})`)) ?? name,
    });
  const ask =
    checked &&
    html`<${Dialog} title=${text('installSure', { id: checked.id, version: checked.version })} onClose=${() => setChecked(undefined)} actions=${html`<${Button} onClick=${() => setChecked(undefined)}>${common('cancel')}<//><${Button} kind="main" writes onClick=${install}>${text('install')}<//>`}><${Facts} rows=${[[text('isolation'), text(checked.claims.isolation)], [text('powers'), list(checked.claims.capabilities)], [text('services'), list(checked.claims.services.map(words))], [text('taps'), list(checked.claims.taps)], [text('files'), list([...(checked.claims.files?.read ?? []), ...(checked.claims.files?.write ?? [])])], [text('signer'), checked.signer ?? text('unsigned')]]} /><//>`;
  return html`<${Card} title=${text('installTitle')}><${TextField} label=${text('source')} hint=${text('sourceHint')} value=${source} onInput=${setSource} placeholder="/media/usb/my-plugin.tgz" /><div class="actions"><${Button} kind="main" writes disabled=${!source.startsWith('/')} onClick=${check}>${text('look')}<//></div><//>${ask}`;
}

interface Checked {
  readonly id: string;
  readonly version: string;
  readonly digest: string;
  readonly signer?: string;
  readonly added: readonly string[];
  readonly claims: {
    readonly isolation: 'inline' | 'worker' | 'process';
    readonly capabilities: readonly string[];
    readonly services: readonly string[];
    readonly taps: readonly string[];
    readonly files?: { readonly read?: readonly string[]; readonly write?: readonly string[] };
  };
}
