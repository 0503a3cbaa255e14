/**
 * Events of the bus, kept within bounds: events and gaps in order of arrival, counts of each topic, and counts of
 * dropped ones. No DOM in here.
 */

export interface Envelope {
  readonly topic: string;
  readonly ts: number;
  readonly seq: number;
  readonly source: string;
  readonly via?: string;
  readonly priority: 'low' | 'normal' | 'high' | 'critical';
  readonly payload: Readonly<Record<string, unknown>>;
}

export interface EventRow {
  readonly key: number;
  readonly event: Envelope;
  /** For the search: made when somebody searches. */
  text?: string;
}

/**
 * Something is missing here. `dropped`: this page was too slow, and the Core says what was lost. `cutOff`: a critical
 * event was among it, and the stream began anew. `socket`: the connection was gone. `restart`: and the Core began to
 * count anew.
 */
export interface GapRow {
  readonly key: number;
  readonly gap: 'dropped' | 'cutOff' | 'socket' | 'restart';
  readonly at: number;
  /** How many, where that is known; of a lost socket that is how many there were of any topic. */
  count?: number;
  readonly counts?: Readonly<Record<string, number>>;
}
export type Row = EventRow | GapRow;

export interface TopicCount {
  readonly topic: string;
  total: number;
  /** A second, over the last few. */
  rate: number;
  /** Events of this second, and of those before. */
  now: number;
  readonly before: number[];
}

export interface View {
  readonly search: string;
  readonly priorities: ReadonlySet<string>;
}

export const MOST_ROWS = 10_000;
/** So many go at once, so that a list does not move with each event. */
const STEP = 500;
export const MOST_TOPICS = 500;
const SECONDS = 5;

export const isEvent = (row: Row): row is EventRow => 'event' in row;

export class Feed {
  rows: Row[] = [];
  /** Rows that went because there were too many; what stands first in `rows` is row number `gone`. */
  gone = 0;
  total = 0;
  /** Events that the Core counted as lost for this page. */
  lost = 0;
  readonly topics = new Map<string, TopicCount>();
  #next = 1;
  #last: Pick<Envelope, 'seq' | 'ts'> | undefined;
  /**
   * A connection came back: what it was, and how many came since. Open until the next tick: values that are retained
   * come before what is live.
   */
  #open: { row: GapRow; readonly from: number; arrived: number } | undefined;

  /** False for what was here before: retained events come again with each connection. */
  add(event: Envelope): boolean {
    const last = this.#last;
    if (event.topic === 'system.bus.dropped') {
      this.#dropped(event);
      return true;
    }
    if (last !== undefined && event.seq <= last.seq && event.ts <= last.ts) return false;
    if (this.#open !== undefined) this.#settle(event);
    this.#last = event;
    this.#push({ key: this.#next++, event });
    this.total += 1;
    this.#count(event.topic);
    return true;
  }

  /** The connection is back. Whether events are missing, the next one tells. */
  interrupted(at: number): void {
    if (this.#last === undefined || this.#open !== undefined) return;
    const before = this.rows.at(-1);
    // The Core has said already what is missing.
    if (before !== undefined && !isEvent(before) && before.gap === 'cutOff') return;
    const row: GapRow = { key: this.#next++, gap: 'socket', at };
    this.#open = { row, from: this.#last.seq, arrived: 0 };
    this.#push(row);
  }

  /** Once a second: rates. False where nothing has changed since the last time. */
  tick(): boolean {
    let moved = false;
    if (this.#open !== undefined && this.#open.arrived > 0) this.#open = undefined;
    for (const one of this.topics.values()) {
      one.before.push(one.now);
      one.now = 0;
      if (one.before.length > SECONDS) one.before.shift();
      const rate = one.before.reduce((sum, count) => sum + count, 0) / one.before.length;
      if (rate !== one.rate) moved = true;
      one.rate = rate;
    }
    return moved;
  }

  clear(): void {
    this.rows = [];
    this.gone = 0;
    this.total = 0;
    this.lost = 0;
    this.topics.clear();
    this.#open = undefined;
  }

  #settle({ seq }: Envelope): void {
    const open = this.#open!;
    const at = this.rows.lastIndexOf(open.row);
    const { count: _, ...row } = open.row;
    open.arrived += 1;
    const count = seq - open.from - open.arrived;
    // A new object: whoever draws rows by their identity sees that it is another.
    open.row = seq <= open.from ? { ...row, gap: 'restart' } : { ...row, count };
    if (at >= 0) this.rows[at] = open.row;
    if (open.row.gap === 'restart') this.#open = undefined;
  }

  #dropped({ payload, ts }: Envelope): void {
    const counts = (payload.counts ?? {}) as Readonly<Record<string, number>>;
    const count = Object.values(counts).reduce((sum, one) => sum + one, 0);
    this.lost += count;
    const before = this.rows.at(-1);
    // One stretch of loss after the other is one gap to who reads.
    if (before !== undefined && !isEvent(before) && before.gap === 'dropped' && payload.cutOff !== true) {
      this.rows[this.rows.length - 1] = {
        ...before,
        count: (before.count ?? 0) + count,
        counts: sum(before.counts, counts),
      };
      return;
    }
    this.#push({ key: this.#next++, gap: payload.cutOff === true ? 'cutOff' : 'dropped', at: ts, count, counts });
  }

  #push(row: Row): void {
    this.rows.push(row);
    if (this.rows.length < MOST_ROWS + STEP) return;
    this.rows.splice(0, STEP);
    this.gone += STEP;
  }

  #count(topic: string): void {
    let one = this.topics.get(topic);
    if (one === undefined) {
      if (this.topics.size >= MOST_TOPICS) return;
      one = { topic, total: 0, rate: 0, now: 0, before: [] };
      this.topics.set(topic, one);
    }
    one.total += 1;
    one.now += 1;
  }
}

/**
 * Rows that match the view; gaps always match, for they may hide a match. The text of a row is made when it is first
 * searched, and that of ten thousand takes longer than a press may: rows that are not ready by `until`
 * (`performance.now()`) are left out, and `whole` is false.
 */
export function chosen(
  rows: readonly Row[],
  { search, priorities }: View,
  until = Number.POSITIVE_INFINITY,
): { readonly rows: readonly Row[]; readonly whole: boolean } {
  const wanted = search.trim().toLowerCase();
  if (wanted === '' && priorities.size === 0) return { rows, whole: true };
  let [made, late] = [0, false];
  const found = rows.filter((row) => {
    if (!isEvent(row)) return true;
    if (priorities.size > 0 && !priorities.has(row.event.priority)) return false;
    if (wanted === '') return true;
    if (row.text === undefined) {
      made += 1;
      if (made % 64 === 0) late ||= performance.now() > until;
      if (late) return false;
    }
    return textOf(row).includes(wanted);
  });
  return { rows: found, whole: !late };
}

function textOf(row: EventRow): string {
  const { topic, source, via = '', payload } = row.event;
  row.text ??= `${topic} ${source} ${via} ${JSON.stringify(payload)}`.toLowerCase();
  return row.text;
}

function sum(
  a: Readonly<Record<string, number>> = {},
  b: Readonly<Record<string, number>> = {},
): Readonly<Record<string, number>> {
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return Object.fromEntries([...keys].map((key) => [key, (a[key] ?? 0) + (b[key] ?? 0)]));
}

/** The latest of each topic and subject: what holds now. */
export class Truths {
  readonly values = new Map<string, Envelope>();

  add(event: Envelope): void {
    const { app, plugin } = event.payload;
    const subject = typeof app === 'string' ? app : typeof plugin === 'string' ? plugin : '';
    this.values.set(`${event.topic} ${subject}`, event);
  }
}

/** Why a text is no filter of the bus, as the Core would say it: `segment` of it is wrong. Undefined where it is one. */
export function filterFault(filter: string): 'empty' | 'long' | 'segments' | 'segment' | undefined {
  if (filter === '') return 'empty';
  if (filter.length > 255) return 'long';
  const segments = filter.split('.');
  if (segments.length > 16) return 'segments';
  const fits = segments.every(
    (one, at) => one === '*' || (one === '**' && at === segments.length - 1) || /^[A-Za-z0-9_-]+$/.test(one),
  );
  return fits ? undefined : 'segment';
}
