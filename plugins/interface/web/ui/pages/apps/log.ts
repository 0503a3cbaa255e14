import { html } from 'htm/preact';
import { useMemo, useState } from 'preact/hooks';
import { sheet } from '../../parts/ask.ts';
import { SelectField, TextField } from '../../parts/field.ts';
import { Card } from '../../parts/frame.ts';
import { LEVELS, type LogLine, LogView, useLog } from '../../parts/log-lines.ts';
import { text } from './text.ts';

sheet('parts/log-lines.css');

/** Live log of the app. */
export function AppLog({ app }: { app: string }) {
  const [level, setLevel] = useState<string>('debug');
  const [wanted, setWanted] = useState('');
  const log = useLog({ app, level });
  const filter = useMemo(() => {
    const part = wanted.toLowerCase();
    return part === '' ? undefined : ({ message }: LogLine) => message.toLowerCase().includes(part);
  }, [wanted]);
  const levels = LEVELS.map(
    (one) => [one, one === 'debug' ? text('everyLevel') : text('fromLevel', { level: one })] as const,
  );
  return html`<${Card} title=${text('tab_log')}><div class="apps-filter"><${SelectField} quiet label=${text('level')} value=${level} options=${levels} onChange=${setLevel} /><${TextField} quiet label=${text('textFilter')} placeholder=${text('textFilter')} type="search" value=${wanted} onInput=${setWanted} /></div><${LogView} log=${log} filter=${filter} /><//>`;
}
