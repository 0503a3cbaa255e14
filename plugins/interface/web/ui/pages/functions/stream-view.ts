import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { Card, Facts } from '../../parts/frame.ts';
import { plain } from '../../parts/plain.ts';
import { CallCard, type Values } from './call.ts';
import type { StreamKind } from './catalog.ts';
import { Items } from './items.ts';
import { words } from './text.ts';

export function StreamView({ stream }: { stream: StreamKind }) {
  const { name, summary, direction, capability, plugin, params } = stream;
  const [values, setValues] = useState<Values>({});
  const [open, setOpen] = useState<{ readonly turn: number; readonly params: Values } | undefined>(undefined);
  const rows = [
    [words('direction'), words(direction)] as const,
    ...(plugin ? [[words('ofPlugin'), plain(plugin, 80)] as const] : []),
    ...(capability ? [[words('needs'), html`<code class="wrap">${plain(capability, 120)}</code>`] as const] : []),
  ];
  return html`<${Card} title=${name}><p>${plain(summary, 4000)}.</p><${Facts} rows=${rows} /><//><${CallCard} name=${name} schema=${params} values=${values} onChange=${setValues} writes=${direction !== 'read'} asks=${false} label=${words('open')} run=${async () => setOpen({ turn: (open?.turn ?? 0) + 1, params: values })} outcome=${undefined} />${open && html`<${Items} key=${open.turn} name=${name} params=${open.params} onStop=${() => setOpen(undefined)} />`}`;
}
