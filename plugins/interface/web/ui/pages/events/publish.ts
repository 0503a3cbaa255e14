import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { api } from '../../core/api.ts';
import { link } from '../../core/route.ts';
import { useAsk } from '../../parts/ask.ts';
import { Button, LinkButton } from '../../parts/button.ts';
import { Choice, SelectField, TextField } from '../../parts/field.ts';
import { Card, Problem } from '../../parts/frame.ts';
import { plain } from '../../parts/plain.ts';
import { words } from './text.ts';

interface App {
  readonly id: string;
  readonly title?: string;
}

const OPERATOR = '';

export function Publish({ query, topics }: { query: URLSearchParams; topics: readonly string[] }) {
  const apps = useAsk<{ readonly apps: readonly App[] }>('/apps');
  const [app, setApp] = useState<string | undefined>(query.get('app') ?? undefined);
  const [topic, setTopic] = useState(query.get('topic') ?? '');
  const [payload, setPayload] = useState(pretty(query.get('payload')));
  const [priority, setPriority] = useState<'low' | 'normal' | 'high'>('normal');
  const [error, setError] = useState<unknown>(undefined);
  const [seq, setSeq] = useState<number | undefined>(undefined);
  const known = apps.data?.apps ?? [];
  const as = app ?? known[0]?.id ?? OPERATOR;
  const value = objectOf(payload);
  const fallback = as === OPERATOR ? '' : `app.${as}.event.test`;
  const own = as === OPERATOR ? topics : [`app.${as}.event.test`, 'ui.toast', 'ui.banner'];
  const send = async () => {
    setError(undefined);
    setSeq(undefined);
    const event = { topic: topic.trim() || fallback, payload: value ?? {}, priority };
    try {
      const answer =
        as === OPERATOR
          ? await api.post<{ seq: number }>('/events/publish', event)
          : await api.post<{ seq: number }>('/events/test', { app: as, ...event });
      setSeq(answer.seq);
    } catch (thrown) {
      setError(thrown);
    }
  };
  const options = [
    ...known.map(({ id, title }) => [id, title ? `${plain(title, 60)} (${plain(id, 120)})` : plain(id, 120)] as const),
    ...(app && !known.some(({ id }) => id === app) ? [[app, plain(app, 120)] as const] : []),
    [OPERATOR, words('asOperator')] as const,
  ];
  const priorities = (['low', 'normal', 'high'] as const).map((one) => [one, words(one)] as const);
  return html`<${Card} label=${words('publish')} class="event-publish"><p class="note">${words('publishLead')}</p><${SelectField} label=${words('as')} hint=${as === OPERATOR ? undefined : words('asHint')} value=${as} options=${options} onChange=${setApp} /><${TextField} label=${words('topic')} list=${own} placeholder=${fallback} value=${topic} onInput=${setTopic} /><${TextField} label=${words('payload')} lines=${8} hint=${words('payloadHint')} error=${value === undefined ? words('badPayload') : undefined} value=${payload} onInput=${setPayload} /><${Choice} label=${words('priority')} value=${priority} options=${priorities} onChange=${setPriority} /><div class="actions"><${Button} kind="main" writes disabled=${value === undefined || (topic.trim() === '' && fallback === '')} onClick=${send}>${words('send')}<//></div><div role="status">${seq !== undefined && html`<p class="row">${words('sent', { seq: String(seq) })} <${LinkButton} kind="quiet" href=${link('events', [], { filter: topic.trim() || fallback })}>${words('see')}<//></p>`}</div>${error !== undefined && html`<${Problem} error=${error} />`}<//>`;
}

function objectOf(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    // Half typed: the field says so.
    return undefined;
  }
}

function pretty(text: string | null): string {
  const value = text === null ? {} : objectOf(text);
  return JSON.stringify(value ?? {}, null, 2);
}
