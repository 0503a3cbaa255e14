import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { api } from '../../core/api.ts';
import { go } from '../../core/route.ts';
import { useAsk } from '../../parts/ask.ts';
import { Button } from '../../parts/button.ts';
import { Dialog } from '../../parts/dialog.ts';
import { TextField } from '../../parts/field.ts';
import { Card, Facts } from '../../parts/frame.ts';
import { sentenceOf } from '../../parts/right.ts';
import { common } from '../../parts/text.ts';
import type { PageView } from '../../view/shapes.ts';
import { View } from '../../view/view.ts';
import { text } from './text.ts';

const BACK: Partial<PageView> = {
  heading: 'rolledBack',
  rows: 'rolledBack',
  marks: [],
  actions: [],
  columns: [['plugin', '{id}'], 'version', ['whyBack', '{reason}'], ['when', '{at:ago}']],
  empty: 'noneBack',
};

/** Plugins installed on this device, and failed ones with the reason. */
export function Installed() {
  const { data, reload } = useAsk<{ readonly disabled: readonly string[] }>('/plugins/installed');
  const base = ['plugins'];
  return html`<${View} of="plugins.installed" base=${base} /><${View} of="plugins.installed" base=${base} more=${BACK} />${data && data.disabled.length > 0 && html`<${Off} ids=${data.disabled} onDone=${reload} />`}<${Install} />`;
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
