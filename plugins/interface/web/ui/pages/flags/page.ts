/** Feature flags: what each is, who declares it, what it is now, and a field of its own schema to set it. */
import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { ApiError, api } from '../../core/api.ts';
import { whenText } from '../../core/format.ts';
import { isOperator } from '../../core/session.ts';
import { errorsOf, type FieldError } from '../../form/errors.ts';
import { Form } from '../../form/form.ts';
import { type Schema, same } from '../../form/schema.ts';
import { useAsk, useEvents } from '../../parts/ask.ts';
import { Button } from '../../parts/button.ts';
import { Answer, Badge, Card, Empty, Head } from '../../parts/frame.ts';
import { clean } from '../../parts/said.ts';
import { text } from './text.ts';

interface Flag {
  readonly name: string;
  readonly value: unknown;
  readonly source: 'app' | 'device' | 'default';
  readonly description: string;
  readonly schema: Schema;
  readonly declaredBy: string;
  readonly setBy?: string;
  readonly setAt?: number;
}

export function Page() {
  const flags = useAsk<{ readonly flags: readonly Flag[] }>('/flags');
  useEvents(['flag.changed', 'plugin.changed'], flags.reload);
  const rows = (data: { readonly flags: readonly Flag[] }) =>
    data.flags.length === 0
      ? html`<${Empty} title=${text('none')} />`
      : html`<div class="grid">${data.flags.map((flag) => html`<${Row} key=${flag.name} flag=${flag} reload=${flags.reload} />`)}</div>`;
  return html`<${Head} title=${text('title')} lead=${text('lead')} /><${Answer} of=${flags}>${rows}<//>`;
}

function Row({ flag, reload }: { flag: Flag; reload: () => void }) {
  const [draft, setDraft] = useState<{ readonly value: unknown; readonly whole: boolean } | undefined>(undefined);
  const [errors, setErrors] = useState<readonly FieldError[]>([]);
  const { name, value, source, declaredBy, setBy, setAt } = flag;
  const path = `/flags/${encodeURIComponent(name)}`;
  const settled = () => {
    setDraft(undefined);
    setErrors([]);
    reload();
  };
  const save = async () => {
    try {
      await api.put(path, { value: draft?.value });
      settled();
    } catch (thrown) {
      // Faults of the value stand at its field; other errors are shown as messages.
      if (!(thrown instanceof ApiError && thrown.code === 'CONFIG_VALUE_INVALID')) throw thrown;
      setErrors(errorsOf(thrown));
    }
  };
  const change = (now: unknown, whole: boolean) => {
    setErrors([]);
    setDraft(whole && same(now, value) ? undefined : { value: now, whole });
  };
  const plugin = /^plugin\.(.*)$/.exec(declaredBy)?.[1];
  const whose = plugin === undefined ? text('sku') : text('plugin', { id: clean(plugin) });
  const who = setBy !== undefined && setAt !== undefined && text('by', { who: clean(setBy), when: whenText(setAt) });
  return html`<${Card} title=${name} aside=${html`<${Badge} level=${source === 'default' ? 'quiet' : 'info'}>${text(source)}<//>`}><${Form} schema=${flag.schema} label=${name} quiet value=${draft ? draft.value : value} errors=${errors} disabled=${!isOperator()} onChange=${change} /><p class="note">${[whose, who].filter(Boolean).join(' · ')}</p><div class="actions">${draft && html`<${Button} kind="main" writes disabled=${!draft.whole || draft.value === undefined} label=${text('saveOf', { name })} onClick=${save}>${text('save')}<//><${Button} kind="quiet" onClick=${() => change(value, true)}>${text('discard')}<//>`}${!draft && source === 'device' && html`<${Button} writes icon="undo" label=${text('resetOf', { name })} onClick=${() => api.delete(path).then(settled)}>${text('reset')}<//>`}</div><//>`;
}
