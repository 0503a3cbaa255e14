/**
 * Lines of a log, live: kept up to a bound, with gaps told, paused and filtered by the reader. Two pages need them:
 * logs, and the log of one app.
 */

import { html } from 'htm/preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { timeText } from '../core/format.ts';
import { catalogue } from '../core/text.ts';
import { useFollow, useVisible } from './ask.ts';
import { Button, Copy } from './button.ts';
import { download } from './file.ts';
import { Badge, Empty, Facts, Problem } from './frame.ts';
import type { Level } from './level.ts';
import { clean } from './said.ts';
import { LongList } from './table.ts';

export const LEVELS = ['debug', 'info', 'warn', 'error', 'fatal'] as const;
export type LogLevel = (typeof LEVELS)[number];

/** As `logs.read` says it. */
export interface LogEntry {
  /** Milliseconds since the Unix epoch; what an app printed has none. */
  readonly ts?: number;
  readonly level: LogLevel;
  readonly plugin?: string;
  readonly app?: string;
  readonly message: string;
  readonly fields?: Readonly<Record<string, unknown>>;
}

export interface LogLine extends LogEntry {
  /** Number of the line, counted by this page alone. */
  readonly seq: number;
  /** Lines are missing before this one. */
  readonly gap?: true;
}

/** More are let go, the oldest first. */
const MOST = 10_000;
/** Earlier lines that the stream repeats when it is opened. */
const TAIL = 1000;
const DRAW_MS = 120;
/** The end of what the stream brings again is not marked: after so long without the line that was last, it is a gap. */
const RESUME_MS = 600;
const LEVEL: Readonly<Record<LogLevel, Level>> = {
  debug: 'quiet',
  info: 'info',
  warn: 'warn',
  error: 'error',
  fatal: 'error',
};

export const words = catalogue('parts/log-lines');

export interface Log {
  readonly lines: readonly LogLine[];
  /** Some were let go. */
  readonly dropped: boolean;
  readonly error: unknown;
}

const isSame = (one: LogEntry, other: LogEntry): boolean =>
  one.ts === other.ts && one.level === other.level && one.message === other.message;

/**
 * Follows `logs.stream` with these params while somebody can see the page; what came meanwhile is there when it is seen
 * again, or a gap says that it is not.
 */
export function useLog(params: { readonly app?: string; readonly plugin?: string; readonly level?: string }): Log {
  const [log, setLog] = useState<Log>({ lines: [], dropped: false, error: undefined });
  const visible = useVisible();
  const key = JSON.stringify(params);
  const held = useRef({ key, seq: 0, lines: [] as LogLine[], dropped: false, arrived: [] as LogEntry[] });
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const resumed = useRef<number | undefined>(undefined);
  if (held.current.key !== key) held.current = { key, seq: held.current.seq, lines: [], dropped: false, arrived: [] };
  const draw = () => {
    timer.current = undefined;
    const now = held.current;
    const last = now.lines.at(-1);
    let gap = false;
    if (resumed.current !== undefined && last !== undefined) {
      const at = now.arrived.findLastIndex((one) => isSame(one, last));
      if (at >= 0) now.arrived = now.arrived.slice(at + 1);
      else if (Date.now() - resumed.current < RESUME_MS) return later();
      else gap = now.arrived.length > 0;
    }
    resumed.current = undefined;
    const fresh = now.arrived.map(
      (entry, at): LogLine => ({ ...entry, seq: ++now.seq, ...(gap && at === 0 ? { gap } : {}) }),
    );
    now.arrived = [];
    const all = [...now.lines, ...fresh];
    now.dropped ||= all.length > MOST;
    now.lines = all.slice(-MOST);
    setLog({ lines: now.lines, dropped: now.dropped, error: undefined });
  };
  const later = () => {
    timer.current ??= setTimeout(draw, DRAW_MS);
  };
  useEffect(() => {
    setLog({ lines: held.current.lines, dropped: held.current.dropped, error: undefined });
    return () => {
      clearTimeout(timer.current);
      timer.current = undefined;
    };
  }, [key]);
  useFollow(
    visible ? 'logs.stream' : undefined,
    { ...params, tail: TAIL },
    {
      opened: () => {
        // Also when the tab is seen again: what is there comes once more.
        if (held.current.lines.length > 0) resumed.current = Date.now();
        else held.current.arrived = [];
        later();
      },
      item: ({ data }) => {
        const { arrived } = held.current;
        arrived.push(data as LogEntry);
        if (arrived.length > MOST) arrived.shift();
        later();
      },
      closed: (error) => setLog({ lines: held.current.lines, dropped: held.current.dropped, error }),
    },
  );
  return log;
}

/** One line of text, as it is copied and saved. */
export function lineText({ ts, level, plugin, app, message, fields }: LogEntry): string {
  const at = ts === undefined ? '' : `${new Date(ts).toISOString()} `;
  const from = [plugin, app].filter((one) => one !== undefined).join(' ');
  return `${at}${level}${from ? ` ${from}` : ''}: ${clean(message)}${fields ? ` ${clean(JSON.stringify(fields))}` : ''}`;
}

/** The lines of a log with what one does with them. `filter`: of what is here, those that are shown. */
export function LogView({ log, filter }: { log: Log; filter?: (line: LogLine) => boolean }) {
  const [stopped, setStopped] = useState<readonly LogLine[] | undefined>(undefined);
  const [chosen, setChosen] = useState<LogLine | undefined>(undefined);
  const source = stopped ?? log.lines;
  const shown = useMemo(() => (filter ? source.filter(filter) : source), [source, filter]);
  const waiting = stopped
    ? log.lines.length - 1 - log.lines.findLastIndex(({ seq }) => seq === stopped.at(-1)?.seq)
    : 0;
  const all = () => shown.map(lineText).join('\n');
  const pause = html`<${Button} icon=${stopped ? 'play' : 'pause'} pressed=${stopped !== undefined} onClick=${() => setStopped(stopped ? undefined : log.lines)}>${words(stopped ? 'follow' : 'pause')}<//>`;
  return html`${log.error !== undefined && html`<${Problem} error=${log.error} />`}<div class="log-bar">${pause}<span class="note" role="status">${stopped && waiting > 0 ? words('waiting', { n: waiting }) : words('lines', { n: shown.length })}</span><span class="log-do"><${Copy} text=${all()} label=${words('copyAll')} /><${Button} kind="quiet" onClick=${() => save(all())}>${words('save')}<//></span></div>${log.dropped && html`<p class="note">${words('dropped', { n: MOST })}</p>`}${
    shown.length === 0
      ? html`<${Empty} icon="logs" title=${words(source.length === 0 ? 'none' : 'noneMatch')} />`
      : html`<${LongList} label=${words('list')} items=${shown} height=${32} follow=${stopped === undefined} itemKey=${({ seq }: LogLine) => seq} row=${(line: LogLine) => html`<${Row} line=${line} chosen=${line.seq === chosen?.seq} choose=${() => setChosen(line.seq === chosen?.seq ? undefined : line)} />`} />`
  }${chosen && html`<${Details} line=${chosen} close=${() => setChosen(undefined)} />`}`;
}

function Row({ line, chosen, choose }: { line: LogLine; chosen: boolean; choose: () => void }) {
  const { ts, level, plugin, app, message, gap } = line;
  return html`<button type="button" class=${`log-line ${level} ${gap ? 'gap' : ''}`} aria-expanded=${chosen} onClick=${choose}><span class="log-time">${ts === undefined ? '' : timeText(ts)}</span><span class="log-level">${level}</span>${(plugin ?? app) && html`<span class="log-from">${clean(plugin ?? app ?? '')}</span>`}<span class="log-text">${gap && html`<em>${words('gap')}</em> `}${clean(message)}</span></button>`;
}

function Details({ line, close }: { line: LogLine; close: () => void }) {
  const { ts, level, plugin, app, message, fields = {} } = line;
  const time = ts === undefined ? words('noTime') : new Date(ts).toISOString();
  const rows = [
    [words('level'), html`<${Badge} level=${LEVEL[level]}>${level}<//>`] as const,
    ...(plugin === undefined ? [] : [[words('plugin'), clean(plugin)] as const]),
    ...(app === undefined ? [] : [[words('app'), clean(app)] as const]),
    ...Object.entries(fields).map(([name, value]) => [clean(name), html`<code>${fieldText(value)}</code>`] as const),
  ];
  return html`<section class="log-details" aria-label=${words('details', { time })}><div class="card-head"><h3>${words('details', { time })}</h3><span class="row"><${Copy} text=${lineText(line)} /><${Button} kind="quiet" icon="close" label=${words('details', { time })} onClick=${close} /></span></div><pre class="log-message">${clean(message)}</pre><${Facts} rows=${rows} /></section>`;
}

const fieldText = (value: unknown): string => clean(typeof value === 'string' ? value : JSON.stringify(value, null, 1));

const save = (text: string): void =>
  download(`log-${new Date().toISOString().replace(/[:.]/g, '-')}.txt`, `${text}\n`, 'text/plain');
