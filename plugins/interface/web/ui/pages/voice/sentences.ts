/** Known sentences, and a trial that shows the meaning of one without acting on it. */
import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { api } from '../../core/api.ts';
import { useAsk, useEvents } from '../../parts/ask.ts';
import { Button } from '../../parts/button.ts';
import { TextField } from '../../parts/field.ts';
import { Answer, Badge, Card, Facts, Problem } from '../../parts/frame.ts';
import { Table } from '../../parts/table.ts';
import { words } from './text.ts';

interface Intent {
  readonly id: string;
  readonly title: string;
  readonly owner: string;
  readonly example: string;
}
interface Intents {
  readonly intents: readonly Intent[];
  readonly leftOut: readonly { readonly app: string; readonly function: string; readonly reason: string }[];
  readonly unspoken: readonly { readonly intent: string; readonly words: readonly string[] }[];
}
interface Plan {
  readonly intent: string;
  readonly title: string;
  readonly slots: Readonly<Record<string, unknown>>;
}
interface Match {
  readonly outcome: 'plan' | 'ambiguous' | 'none';
  readonly plan?: Plan;
  readonly candidates?: readonly Plan[];
}

export function Sentences() {
  const all = useAsk<Intents>('/intents');
  useEvents(['app.state', 'app.installed', 'app.removed'], all.reload, 1000);
  const [text, setText] = useState('');
  const [match, setMatch] = useState<Match | undefined>(undefined);
  const [error, setError] = useState<unknown>(undefined);
  const look = async (said: string) => {
    setError(undefined);
    try {
      setMatch(await api.post<Match>('/intents/match', { text: said }));
    } catch (thrown) {
      setMatch(undefined);
      setError(thrown);
    }
  };
  const columns = [
    { title: words('example'), cell: ({ example }: Intent) => html`<span class="clip">“${example}”</span>` },
    { title: words('does'), cell: ({ title }: Intent) => title },
    { title: words('owner'), cell: ({ owner }: Intent) => html`<code>${owner}</code>` },
    {
      title: words('try'),
      cell: ({ example }: Intent) =>
        html`<${Button} kind="quiet" writes icon="play" label=${words('trySentence', { sentence: example })} onClick=${() => {
          setText(example);
          return look(example);
        }} />`,
    },
  ];
  return html`<${Card} title=${words('tryTitle')}><p class="note">${words('tryLead')}</p><form class="ask" onSubmit=${(
    event: Event,
  ) => {
    event.preventDefault();
    if (text.trim() !== '') void look(text.trim());
  }}><${TextField} label=${words('sentence')} value=${text} placeholder=${words('writeExample')} onInput=${setText} /><${Button} writes type="submit" disabled=${text.trim() === ''}>${words('look')}<//></form><div role="status">${match && html`<${Meaning} match=${match} />`}</div>${error !== undefined && html`<${Problem} error=${error} />`}<//><${Card} title=${words('sentences')}><${Answer} of=${all}>${({ intents, leftOut, unspoken }: Intents) => html`<${Table} label=${words('sentences')} columns=${columns} rows=${intents} rowKey=${({ id }: Intent) => id} />${leftOut.length > 0 && html`<h3>${words('leftOut')}</h3><ul class="lines">${leftOut.map((one) => html`<li key=${`${one.app} ${one.function}`}><code>${one.app}</code> ${one.function}: ${one.reason}</li>`)}</ul>`}${unspoken.length > 0 && html`<h3>${words('unspoken')}</h3><ul class="lines">${unspoken.map((one) => html`<li key=${one.intent}><code>${one.intent}</code> ${one.words.join(', ')}</li>`)}</ul>`}`}<//><//>`;
}

function Meaning({ match }: { match: Match }) {
  const { outcome, plan, candidates = [] } = match;
  if (outcome === 'none') return html`<p><${Badge} level="warn">${words('meansNothing')}<//></p>`;
  const plans = plan ? [plan] : candidates;
  return html`<div class="stack">${outcome === 'ambiguous' && html`<p><${Badge} level="warn">${words('meansMany')}<//></p>`}${plans.map(
    (one) =>
      html`<${Facts} key=${one.intent} rows=${[
        [words('does'), html`${one.title} <code>${one.intent}</code>`],
        ...Object.entries(one.slots).map(([name, value]) => [name, String(value)] as const),
      ]} />`,
  )}</div>`;
}
