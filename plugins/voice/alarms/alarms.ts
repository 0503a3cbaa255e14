/** The alarms: kept in a file, rung when they are due by the wall clock of the zone, or when their length is over. */
import { CoreError, type Logger, maybe, type Scope } from '@device-core/plugin-api';
import { KeptFile, type KeptForm } from '@device-core/plugin-api/durable';
import { Listeners } from '@device-core/plugin-api/operation-kit';
import type {
  Alarm,
  AlarmChange,
  AlarmRequest,
  AlarmsState,
  MissedAlarm,
  Alarms as Service,
} from '@device-core/plugin-api/services/alarms';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import { Bell } from '../shared/bell.ts';
import { AlarmTimes } from './alarm-times.ts';
import {
  type Book,
  checkTime,
  daysOf,
  type Entry,
  entryOf,
  LONGEST_SECONDS,
  shown,
  soundEntry,
  textOf,
} from './entry.ts';
import { latestDate, momentOf, nextDate } from './wall.ts';

const FORM: KeptForm<Book> = {
  form: 1,
  initial: { alarms: [], missed: [] },
  consequence: 'alarms do not outlive a restart',
  format: (book) => book,
  parse: ({ alarms, missed }) =>
    Array.isArray(alarms) ? { alarms, missed: Array.isArray(missed) ? missed : [] } : undefined,
};

export type AlarmEvent = 'set' | 'changed' | 'cancelled' | 'rang' | 'snoozed' | 'stopped' | 'missed';

export interface AlarmsOptions {
  readonly file: string;
  readonly scope: Scope;
  readonly log: Logger;
  readonly zone: string;
  readonly most: number;
  readonly ringMs: number;
  readonly lateMs: number;
  readonly snoozeSeconds: number;
  /** Plays it once, for the time of that number; `texts` are those of the reminders that ring. */
  readonly sound: (signal: AbortSignal, time: number, texts: readonly string[]) => Promise<void>;
  readonly told: (event: AlarmEvent, entry: Entry) => void;
  readonly missed: (missed: MissedAlarm) => void;
}

/** The system tells no plugin that its clock was set: while a time on the wall is waited for, it is looked at so often. */
const LOOK_MS = 60_000;
const MOST_MISSED = 10;
const CHANGE = 'change';

export class Alarms implements Service {
  readonly #options: AlarmsOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #listeners: Listeners<AlarmsState>;
  readonly #file: KeptFile<Book>;
  readonly #bell: Bell;
  readonly #times: AlarmTimes;
  #missed: Book['missed'];
  #look: Disposable | undefined;
  #count = 0;

  private constructor(options: AlarmsOptions, file: KeptFile<Book>) {
    const { scope, log, zone, sound } = options;
    this.#options = options;
    this.#file = file;
    this.#times = new AlarmTimes(zone, scope.clock);
    this.#missed = file.value.missed.slice(0, MOST_MISSED);
    this.#listeners = new Listeners(log);
    this.#bell = new Bell({
      scope,
      log,
      what: 'an alarm',
      sound: (signal, time) => sound(signal, time, this.#texts()),
    });
  }

  static async open(options: AlarmsOptions): Promise<Alarms> {
    const { file, scope, log } = options;
    const alarms = new Alarms(options, await KeptFile.open(file, FORM, scope, log));
    // A ringing alarm goes on when the plugin is back.
    scope.defer('alarm', () => alarms.#bell.stop());
    await alarms.#begin();
    return alarms;
  }

  get size(): number {
    return this.#entries.size;
  }

  async state(): Promise<AlarmsState> {
    return this.#state();
  }

  onChange(listener: (state: AlarmsState) => void): Disposable {
    return this.#listeners.add(CHANGE, listener);
  }

  tell(report: HealthReport): void {
    this.#file.tell(report, 'alarms.file');
  }

  /** The device is in another zone: its times are those of the wall there. */
  moveTo(zone: string): void {
    if (zone === this.#times.zone) return;
    this.#times.zone = zone;
    for (const [id, entry] of this.#entries) {
      const { time, days, rang } = entry;
      if (time !== undefined && days)
        this.#entries.set(id, { ...entry, date: nextDate({ time, days }, this.#now, zone, this.#times.former(rang)) });
    }
    this.#listeners.tell(CHANGE, this.#state());
    void this.#lookRound();
  }

  async set(request: AlarmRequest): Promise<Alarm & { readonly kept: boolean }> {
    const { most } = this.#options;
    this.#count += 1;
    const id = `${Math.round(this.#now).toString(36)}-${this.#count}`;
    const entry = entryOf(request, id, this.#now, this.#times.zone);
    if (this.#entries.size >= most)
      throw new CoreError('QUEUE_FULL', {
        what: 'an alarm',
        reason: `there are ${most} already`,
        retryAfterMs: 60_000,
      });
    return this.#put('set', entry);
  }

  async change(id: string, { time, days, text, on }: AlarmChange): Promise<Alarm & { readonly kept: boolean }> {
    const entry = this.#entries.get(id);
    const wrong = (where: string, reason: string) => new CoreError('PARAMS_INVALID', { where, reason });
    if (!entry) throw wrong('alarm', `there is no alarm ${id}`);
    if (entry.time === undefined && (time !== undefined || days !== undefined || on !== undefined))
      throw wrong('alarm', `alarm ${id} was set by a length: its text alone can be changed`);
    const next = {
      ...entry,
      text: text === undefined ? entry.text : textOf(text),
      on: on ?? entry.on,
    };
    if (entry.time === undefined || (time === undefined && days === undefined && on !== true))
      return this.#put('changed', { ...next, snoozed: on === false ? undefined : entry.snoozed });
    const rhythm = {
      time: time === undefined ? entry.time : checkTime(time),
      days: days === undefined ? entry.days : daysOf(days),
    };
    const date = nextDate({ time: rhythm.time, ...maybe({ days: rhythm.days }) }, this.#now, this.#times.zone);
    return this.#put('changed', { ...next, ...rhythm, date, rang: undefined, snoozed: undefined });
  }

  async cancel(id: string): Promise<boolean> {
    const entry = this.#entries.get(id);
    if (!entry) return false;
    this.#entries.delete(id);
    if (this.#ringing.length === 0) this.#bell.stop();
    this.#tell(entry.since === undefined ? 'cancelled' : 'stopped', entry);
    await this.#save();
    this.#plan();
    return true;
  }

  async snooze(seconds = this.#options.snoozeSeconds): Promise<{ readonly snoozed: number; readonly seconds: number }> {
    if (!(seconds >= 1 && seconds <= LONGEST_SECONDS))
      throw new CoreError('PARAMS_INVALID', { where: 'seconds', reason: `it is from 1 to ${LONGEST_SECONDS}` });
    const ringing = this.#ringing;
    this.#bell.stop();
    for (const entry of ringing) {
      const later = { ...entry, since: undefined, snoozed: { at: this.#now + seconds * 1_000, seconds } };
      this.#entries.set(entry.id, later);
      this.#tell('snoozed', later);
    }
    if (ringing.length > 0) await this.#save();
    this.#plan();
    return { snoozed: ringing.length, seconds };
  }

  async silence(): Promise<number> {
    return this.#end('stopped');
  }

  /** Ends those that ring, and forgets what was missed. */
  async dismiss(): Promise<{ readonly dismissed: number; readonly missed: number }> {
    const missed = this.#missed.length;
    this.#missed = [];
    const dismissed = await this.#end('stopped');
    if (missed > 0 && dismissed === 0) {
      this.#listeners.tell(CHANGE, this.#state());
      await this.#save();
    }
    return { dismissed, missed };
  }

  get #now(): number {
    return this.#options.scope.clock.now();
  }

  get #ringing(): readonly (Entry & { readonly since: number })[] {
    return [...this.#entries.values()]
      .filter((entry): entry is Entry & { readonly since: number } => entry.since !== undefined)
      .sort((one, other) => one.since - other.since);
  }

  #texts(): readonly string[] {
    return this.#ringing.flatMap(({ text }) => text ?? []);
  }

  #state(): AlarmsState {
    const soon = (alarm: Alarm) => alarm.next ?? Number.POSITIVE_INFINITY;
    const alarms = [...this.#entries.values()]
      // One that rings for the last time is seen there.
      .filter(({ since, days }) => since === undefined || days)
      .map((entry) => shown(entry, this.#times.nextOf(entry)))
      .sort((one, other) => (soon(one) === soon(other) ? 0 : soon(one) - soon(other)));
    const ringing = this.#ringing.map(({ id, kind, since, text }) => ({ id, kind, at: since, ...maybe({ text }) }));
    return { alarms, ringing, missed: this.#missed, zone: this.#times.zone };
  }

  async #put(event: AlarmEvent, entry: Entry): Promise<Alarm & { readonly kept: boolean }> {
    this.#entries.set(entry.id, entry);
    const alarm = shown(entry, this.#times.nextOf(entry));
    this.#tell(event, entry);
    const kept = await this.#save();
    this.#plan();
    return { ...alarm, kept };
  }

  async #begin(): Promise<void> {
    const { file, log, most, lateMs } = this.#options;
    const found = this.#file.value.alarms;
    for (const one of found) {
      const entry = soundEntry(one, this.#now);
      if (entry && this.#entries.size < most) this.#entries.set(entry.id, entry);
    }
    const lost = found.length - this.#entries.size;
    if (lost > 0) log.warn({ file, lost }, 'some alarms of the file make no sense');
    const rang = this.#ringing;
    for (const entry of rang) if (this.#now - entry.since > lateMs) this.#miss(entry, entry.since, 'off');
    if (this.#ringing.length > 0) this.#ring();
    await this.#lookRound();
    if (rang.length > this.#ringing.length) await this.#save();
  }

  /** Rings what is due, and waits for the rest. */
  async #lookRound(): Promise<void> {
    let changed = false;
    for (const entry of [...this.#entries.values()]) {
      const late = this.#times.lateness(entry, (right) => this.#entries.set(right.id, right));
      if (late === undefined) continue;
      changed = true;
      this.#come(this.#entries.get(entry.id)!, late);
    }
    this.#plan();
    if (changed) await this.#save();
  }

  /** It is due: it rings, or it is too late for that. */
  #come(entry: Entry, late: number): void {
    const { time, days, date } = entry;
    const now = this.#now;
    let next: Entry = { ...entry, wait: undefined, snoozed: undefined };
    if (time !== undefined && days && date !== undefined) {
      const rang = latestDate({ time, days }, date, now, this.#times.zone);
      // The end of a snooze is no ringing of the date to come.
      if (momentOf(rang, time, this.#times.zone) <= now)
        next = { ...next, rang, date: nextDate({ time, days }, now, this.#times.zone, rang) };
    }
    if (late > this.#options.lateMs) {
      this.#miss(next, now - late, 'off');
      return;
    }
    this.#entries.set(next.id, { ...next, since: next.since ?? now });
    if (next.since !== undefined) return;
    this.#tell('rang', next);
    this.#ring();
  }

  /** Resolves when it rings no more, so nothing waits for it. */
  #ring(): void {
    void this.#bell.ring(this.#options.ringMs, () => void this.#end('missed'));
  }

  #miss(entry: Entry, at: number, why: 'off' | 'unanswered'): void {
    const { id, kind, text } = entry;
    const missed: MissedAlarm = { id, kind, at, ...maybe({ text }), why };
    this.#settle(entry);
    this.#missed = [missed, ...this.#missed].slice(0, MOST_MISSED);
    this.#options.missed(missed);
    this.#options.log.warn({ alarm: id, at, why }, 'an alarm was missed');
    this.#tell('missed', entry);
  }

  /** It does not ring any more: one that repeats stays. */
  #settle({ since: _, ...entry }: Entry): void {
    if (entry.days) this.#entries.set(entry.id, entry);
    else this.#entries.delete(entry.id);
  }

  async #end(event: 'stopped' | 'missed'): Promise<number> {
    const ringing = this.#ringing;
    this.#bell.stop();
    for (const entry of ringing) {
      if (event === 'missed') this.#miss(entry, entry.since, 'unanswered');
      else {
        this.#settle(entry);
        this.#tell(event, entry);
      }
    }
    if (ringing.length > 0) await this.#save();
    return ringing.length;
  }

  #plan(): void {
    const { scope } = this.#options;
    this.#look?.[Symbol.dispose]();
    this.#look = undefined;
    if (scope.signal.aborted) return;
    let ms = Number.POSITIVE_INFINITY;
    for (const entry of this.#entries.values()) {
      if (!entry.on || (entry.since !== undefined && !entry.days)) continue;
      const left = (this.#times.nextOf(entry) ?? Number.POSITIVE_INFINITY) - this.#now;
      const byWall = entry.time !== undefined && (!entry.snoozed || entry.days !== undefined);
      ms = Math.min(ms, byWall ? Math.min(left, LOOK_MS) : left);
    }
    if (ms !== Number.POSITIVE_INFINITY)
      this.#look = scope.timeout('the next alarm', Math.max(0, ms), () => this.#lookRound());
  }

  #tell(event: AlarmEvent, entry: Entry): void {
    if (this.#options.scope.signal.aborted) return;
    this.#options.told(event, entry);
    this.#listeners.tell(CHANGE, this.#state());
  }

  /** Resolves with whether they outlive a restart now; the health tells if not, and they are written when the disk takes them. */
  #save(): Promise<boolean> {
    return this.#file.set({ alarms: [...this.#entries.values()], missed: this.#missed }).then(
      () => true,
      () => false,
    );
  }
}
