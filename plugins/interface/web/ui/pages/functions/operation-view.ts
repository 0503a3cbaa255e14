import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { request } from '../../core/api.ts';
import { Badge, Card, Facts } from '../../parts/frame.ts';
import { plain } from '../../parts/plain.ts';
import { CallCard, LinesCard, type Outcome, OutcomeCard, timed, useRun, type Values } from './call.ts';
import { isDangerous, type Operation } from './catalog.ts';
import { Items } from './items.ts';
import { addressOf, linesOf, pathOf, takesBody } from './lines.ts';
import { words } from './text.ts';

export function OperationView({ operation, programs }: { operation: Operation; programs: ReadonlySet<string> }) {
  const { name, summary, description, rest, params } = operation;
  const [values, setValues] = useState<Values>({});
  const [outcome, setOutcome] = useState<Outcome | undefined>(undefined);
  const [following, setFollowing] = useState<{ readonly turn: number; readonly params: Values } | undefined>(undefined);
  const [file, setFile] = useState<Blob | undefined>(undefined);
  const [run, setRun] = useRun();
  const writes = rest !== undefined && rest.method !== 'GET';
  const call = async () => {
    if (rest?.sse) return setFollowing({ turn: (following?.turn ?? 0) + 1, params: values });
    const { left } = pathOf(operation, values);
    const ask = rest?.raw ? (file ? { file } : {}) : takesBody(operation) ? { body: left } : {};
    setOutcome(await timed(() => request(rest!.method, addressOf(operation, values), ask)));
  };
  const lines = linesOf(operation, values, { run, programs });
  const label = words(rest?.sse ? 'open' : 'call');
  const form = html`<${CallCard} name=${name} schema=${rest?.raw ? {} : params} values=${values} onChange=${setValues} writes=${writes} asks=${isDangerous(operation)} label=${label} run=${call} outcome=${outcome} />`;
  return html`<${About} operation=${operation} title=${name} text=${[summary, description]
    .filter(Boolean)
    .map((one) => sentence(one!))
    .join(
      ' ',
    )} writes=${writes} />${rest === undefined ? html`<${Card} label=${words('call')}><p class="note">${words('sessionOnly')}</p><//>` : html`${rest.raw && html`<${Card} label=${words('file')}><label class="file">${words('file')} <input type="file" onChange=${(event: Event) => setFile((event.currentTarget as HTMLInputElement).files?.[0])} /></label><//>`}${form}`}<${OutcomeCard} outcome=${outcome} />${following && html`<${Items} key=${following.turn} operation=${name} params=${following.params} onStop=${() => setFollowing(undefined)} />`}<${LinesCard} lines=${lines} run=${run} onRun=${setRun} />`;
}

function About(props: { operation: Operation; title: string; text: string; writes: boolean }) {
  const { rest, plugin, capability, access } = props.operation;
  const rows = [
    ...(rest ? [[words('route'), html`<code class="wrap">${rest.method} ${rest.path}</code>`] as const] : []),
    ...(plugin ? [[words('ofPlugin'), plain(plugin, 80)] as const] : []),
    ...(capability ? [[words('needs'), html`<code class="wrap">${plain(capability, 120)}</code>`] as const] : []),
    ...(access ? [[words('who'), plain(access)] as const] : []),
  ];
  const badge =
    rest && html`<${Badge} level=${props.writes ? 'warn' : 'quiet'}>${words(props.writes ? 'writes' : 'reads')}<//>`;
  return html`<${Card} title=${props.title} aside=${badge}><p>${plain(props.text, 4000)}</p><${Facts} rows=${rows} /><//>`;
}

const sentence = (text: string): string => {
  const whole = text.trim();
  const first = `${whole.charAt(0).toUpperCase()}${whole.slice(1)}`;
  return /[.!?]$/.test(first) ? first : `${first}.`;
};
