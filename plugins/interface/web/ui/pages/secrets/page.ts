/** Secrets: what there is, what is missing, setting and deleting. A text goes one way, to the device; no answer has one. */

import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import type { Answers } from '../../core/answers.ts';
import { ApiError, api } from '../../core/api.ts';
import { whenText } from '../../core/format.ts';
import { type Asked as Answered, useAsk, useEvents } from '../../parts/ask.ts';
import { Button } from '../../parts/button.ts';
import { Dialog } from '../../parts/dialog.ts';
import { TextField } from '../../parts/field.ts';
import { Answer, Badge, Card, Head } from '../../parts/frame.ts';
import { Icon } from '../../parts/icon.ts';
import { clean } from '../../parts/said.ts';
import { Table } from '../../parts/table.ts';
import { tell } from '../../parts/toast.ts';
import { text } from './text.ts';

type Kept = Listed['secrets'][number];

type Missing = Answers['secrets.missing']['missing'][number];

type Listed = Answers['secrets.list'];

/** Why no secret can be used, and what to do about it, as the service says it. */
interface Shut {
  readonly state: string;
  readonly reason: string;
}

type Named = Pick<Kept, 'scope' | 'name'>;
type Asked =
  | { readonly act: 'set'; readonly of: Named; readonly known: boolean }
  | { readonly act: 'delete'; of: Named };

const pathOf = ({ scope, name }: Named) => `/secrets/${encodeURIComponent(scope)}/${encodeURIComponent(name)}`;

/** With names, where the vault tells them without its key; else the answer is a refusal, and what was known before counts no more. */
function shutOf({ data, error }: Answered<Listed>): Shut | undefined {
  if (error instanceof ApiError && error.code === 'SECRETS_LOCKED')
    return { state: String(error.data.state ?? 'locked'), reason: error.message };
  if (error !== undefined || data?.locked === undefined) return undefined;
  return { state: data.state ?? 'locked', reason: data.locked };
}

export function Page() {
  const kept = useAsk<Listed>('/secrets');
  const missing = useAsk<{ readonly missing: readonly Missing[] }>('/secrets/missing');
  const [asked, setAsked] = useState<Asked | undefined>(undefined);
  const again = () => {
    kept.reload();
    missing.reload();
  };
  useEvents(['secrets.state'], again);
  const ask = (act: Asked['act'], of: Named, known = true) =>
    setAsked(act === 'set' ? { act, of, known } : { act, of });
  const add = html`<${Button} kind="main" icon="plus" writes onClick=${() => ask('set', { scope: 'shared', name: '' }, false)}>${text('add')}<//>`;
  const close = () => setAsked(undefined);
  const shut = shutOf(kept);
  const unknown = shut !== undefined && kept.error !== undefined;
  const lacking = missing.error === undefined && missing.data && missing.data.missing.length > 0;
  const list = html`<${Card} title=${text('kept')}><${Answer} of=${kept}>${(data: Listed) => html`<${List} of=${data.secrets} ask=${ask} />`}<//><//>`;
  return html`<${Head} title=${text('title')} lead=${text('lead')} actions=${add} />${shut && html`<${Closed} ...${shut} again=${again} />`}${lacking && html`<${Lacking} of=${missing.data!.missing} ask=${(of: Named) => ask('set', of)} />`}${!unknown && list}${asked?.act === 'set' && html`<${SetDialog} ...${asked} close=${close} again=${again} />`}${asked?.act === 'delete' && html`<${DeleteDialog} of=${asked.of} close=${close} again=${again} />`}`;
}

function Closed({ state, reason, again }: Shut & { again: () => void }) {
  const word = state === 'failed' ? text('failed') : text('locked');
  return html`<${Card} title=${text('shut')} aside=${html`<${Badge} level="error">${word}<//>`}><div class="problem" role="alert"><${Icon} name="warn" /><div><p>${clean(reason)}</p><${Button} kind="quiet" onClick=${again}>${text('again')}<//></div></div><//>`;
}

function Lacking({ of, ask }: { of: readonly Missing[]; ask: (of: Named) => void }) {
  const columns = [
    { title: text('name'), cell: ({ name }: Missing) => html`<code>${clean(name)}</code>` },
    { title: text('plugin'), cell: ({ plugin }: Missing) => clean(plugin) },
    {
      title: text('set'),
      cell: ({ name }: Missing) =>
        html`<${Button} writes icon="key" label=${text('setFirst', { name: clean(name) })} onClick=${() => ask({ scope: 'shared', name })}>${text('set')}<//>`,
    },
  ];
  return html`<${Card} title=${text('missing')}><p class="note">${text('missingLead')}</p><${Table} label=${text('missing')} columns=${columns} rows=${of} rowKey=${({ plugin, name }: Missing) => `${plugin} ${name}`} /><//>`;
}

function List({ of, ask }: { of: readonly Kept[]; ask: (act: Asked['act'], of: Named) => void }) {
  const columns = [
    { title: text('name'), cell: ({ name }: Kept) => html`<code>${clean(name)}</code>`, by: ({ name }: Kept) => name },
    { title: text('scope'), cell: ({ scope }: Kept) => clean(scope), by: ({ scope }: Kept) => scope },
    { title: text('setAt'), cell: ({ setAt }: Kept) => whenText(setAt), by: ({ setAt }: Kept) => setAt },
    { title: text('by'), cell: ({ setBy }: Kept) => clean(setBy) },
    {
      title: text('read'),
      cell: ({ readAt }: Kept) => (readAt === undefined ? text('never') : whenText(readAt)),
      by: ({ readAt = 0 }: Kept) => readAt,
    },
    { title: text('reads'), number: true, cell: ({ reads }: Kept) => reads, by: ({ reads }: Kept) => reads },
    {
      title: text('change'),
      cell: ({ scope, name }: Kept) =>
        html`<div class="row"><${Button} kind="quiet" icon="key" writes label=${text('setOf', { name: clean(name) })} onClick=${() => ask('set', { scope, name })} /><${Button} kind="quiet" icon="trash" writes label=${text('deleteOf', { name: clean(name) })} onClick=${() => ask('delete', { scope, name })} /></div>`,
    },
  ];
  return html`<${Table} label=${text('kept')} columns=${columns} rows=${of} rowKey=${({ scope, name }: Kept) => `${scope} ${name}`} empty=${text('none')} />`;
}

interface Closing {
  readonly of: Named;
  readonly close: () => void;
  readonly again: () => void;
}

function SetDialog({ of, known, close, again }: Closing & { known: boolean }) {
  const [scope, setScope] = useState(of.scope);
  const [name, setName] = useState(of.name);
  const [secret, setSecret] = useState('');
  const set = async () => {
    const secretText = secret;
    setSecret('');
    // The shell asks for a confirmation next; two dialogs would be one too many.
    close();
    const { warning } = await api.put<{ readonly warning?: string }>(pathOf({ scope, name }), { secretText });
    tell(warning === undefined ? text('isSet', { name: clean(name) }) : clean(warning));
    again();
  };
  const whole = scope !== '' && name !== '' && secret !== '';
  const title = known ? text('setFirst', { name: clean(name) }) : text('add');
  return html`<${Dialog} title=${title} onClose=${close} actions=${html`<${Button} onClick=${close}>${text('cancel')}<//><${Button} kind="main" writes disabled=${!whole} onClick=${set}>${text('set')}<//>`}>${!known && html`<${TextField} label=${text('name')} value=${name} onInput=${setName} />`}<${TextField} label=${text('scope')} hint=${text('scopeHint')} value=${scope} disabled=${known} onInput=${setScope} /><${TextField} type="password" label=${text('secret')} hint=${text('secretHint')} value=${secret} onInput=${setSecret} /><//>`;
}

function DeleteDialog({ of, close, again }: Closing) {
  const { scope, name } = of;
  const remove = async () => {
    close();
    await api.delete(pathOf(of));
    tell(text('isDeleted', { name: clean(name) }));
    again();
  };
  return html`<${Dialog} title=${text('deleteSure', { name: clean(name), scope: clean(scope) })} onClose=${close} actions=${html`<${Button} onClick=${close}>${text('cancel')}<//><${Button} kind="danger" writes onClick=${remove}>${text('delete')}<//>`}><p>${text('deleteSays')}</p><//>`;
}
