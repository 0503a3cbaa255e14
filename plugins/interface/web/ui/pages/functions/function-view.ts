import { html } from 'htm/preact';
import { useMemo, useState } from 'preact/hooks';
import { api } from '../../core/api.ts';
import { durationText } from '../../core/format.ts';
import { link } from '../../core/route.ts';
import { Badge, Card, Facts } from '../../parts/frame.ts';
import { plain } from '../../parts/plain.ts';
import { CallCard, LinesCard, type Outcome, OutcomeCard, timed, useRun, type Values } from './call.ts';
import { inputsOf, type RegisteredFunction } from './catalog.ts';
import { linesOfCall } from './lines.ts';
import { words } from './text.ts';

/** `same`: every function of this name, the newest first. */
export function FunctionView({ of, same }: { of: RegisteredFunction; same: readonly RegisteredFunction[] }) {
  const { name, app, version, available, description, returns, permissions = [], utterances = [], timeout_ms } = of;
  const [values, setValues] = useState<Values>({});
  const [outcome, setOutcome] = useState<Outcome | undefined>(undefined);
  const [run, setRun] = useRun();
  const schema = useMemo(() => inputsOf(of, (type) => (type === 'bytes' ? words('bytes') : undefined)), [of]);
  const others = same.some((one) => one.app !== app);
  const newer = same.find((one) => one.app === app)?.version !== version;
  const call = async () => {
    const body = { name, app, version, inputs: values };
    const answer = await timed(() => api.post<{ result: unknown }>('/functions/call', body));
    setOutcome('value' in answer ? { ...answer, value: (answer.value as { result: unknown }).result } : answer);
  };
  const rows = [
    [words('app'), html`<a href=${link('apps', [app])}><bdi>${plain(app, 128)}</bdi></a>`],
    [words('version'), plain(version, 40)],
    ...(returns ? [[words('returns'), html`<code class="wrap">${typesText(returns)}</code>`] as const] : []),
    ...(permissions.length > 0
      ? [[words('needs'), html`<code class="wrap">${plain(permissions.join(', '))}</code>`] as const]
      : []),
    ...(utterances.length > 0 ? [[words('says'), plain(utterances.slice(0, 4).join(' · '))] as const] : []),
    ...(timeout_ms ? [[words('limit'), durationText(timeout_ms)] as const] : []),
  ] as const;
  const badge = html`<${Badge} level=${available ? 'okay' : 'warn'}>${words(available ? 'here' : 'away')}<//>`;
  const lines = linesOfCall(of, values, { run, others, newer });
  return html`<${Card} title=${plain(name, 140)} aside=${badge}>${description && html`<p><bdi>${plain(description, 4000)}</bdi></p>`}<${Facts} rows=${rows} /><//><${CallCard} name=${name} schema=${schema} values=${values} onChange=${setValues} writes asks=${false} label=${words('call')} run=${call} outcome=${outcome} /><${OutcomeCard} outcome=${outcome} /><${LinesCard} lines=${lines} run=${run} onRun=${setRun} />`;
}

const typesText = (types: Readonly<Record<string, string>>): string =>
  Object.entries(types)
    .map(([name, type]) => `${plain(name, 64)}: ${plain(type, 20)}`)
    .join(', ');
