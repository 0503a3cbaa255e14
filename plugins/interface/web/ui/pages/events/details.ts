import { html } from 'htm/preact';
import { go, link } from '../../core/route.ts';
import { isOperator } from '../../core/session.ts';
import { Button, Copy, LinkButton } from '../../parts/button.ts';
import { Badge, Facts } from '../../parts/frame.ts';
import { plain } from '../../parts/plain.ts';
import { Tree } from '../../parts/tree.ts';
import type { Envelope } from './feed.ts';
import { exactWhen, nameOf, PRIORITY_LEVEL, sourceText } from './shown.ts';
import { words } from './text.ts';

/** One event, whole: what it is as facts, what it says as a tree. */
export function Details({ event, done }: { event: Envelope; done: () => void }) {
  const { topic, ts, seq, priority, payload } = event;
  const rows = [
    [words('topic'), html`<code class="wrap"><bdi>${plain(topic, 300)}</bdi></code>`],
    [words('when'), exactWhen(ts)],
    [words('seq'), String(seq)],
    [words('source'), html`<bdi>${sourceText(event)}</bdi>`],
    [words('priority'), html`<${Badge} level=${PRIORITY_LEVEL[priority] ?? 'quiet'}>${nameOf(priority)}<//>`],
  ] as const;
  const only = () => {
    done();
    go('events', [], { filter: topic });
  };
  return html`<${Facts} rows=${rows} /><div class="card-head"><h3>${words('payload')}</h3><${Copy} text=${JSON.stringify(event, null, 2)} label=${words('copyEvent')} /></div><div class="event-payload"><${Tree} value=${payload} label=${words('payload')} /></div><div class="actions"><${Button} onClick=${only}>${words('only')}<//>${isOperator() && html`<${LinkButton} kind="quiet" href=${link('events', ['publish'], like(event))}>${words('again')}<//>`}</div>`;
}

/** Initial values of the form. An event too large for an address begins with its topic alone. */
function like({ topic, source, payload }: Envelope): Readonly<Record<string, string>> {
  const app = /^(?:test\.)?app\.(.+)$/.exec(source)?.[1];
  const text = JSON.stringify(payload);
  return { topic, ...(app !== undefined && { app }), ...(text.length <= 2000 && { payload: text }) };
}
