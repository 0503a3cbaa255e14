import { type Clock, maybe } from '@device-core/plugin-api';
import type { OutputLine } from '@device-core/plugin-api/inside/services/app-supervisor';
import type { Journal } from './journal.ts';
import type { JournalLine } from './journal-line.ts';

/** Starts of a guest whose lines are told with their run. */
const MOST_RUNS = 8;
/** Tokens of launches that may still be printed: the present one and that before it. */
const MOST_SECRETS = 2;

interface Run {
  /** The supervisor's name of it. */
  readonly run: string;
  /** Nothing of it was written before. */
  readonly since: number;
}

interface Guest {
  /** By systemd's name of a start, the oldest first. */
  readonly runs: Map<string, Run>;
  secrets: readonly string[];
  /** A start that has ended, of which lines may be on their way. */
  closing?: string;
}

/** How long, and how often, it is looked for the last lines of a guest. */
const CLOSING_MS = 1_500;
const LOOK_MS = 50;

const WITHHELD = '[withheld: secrets could not be looked for in this line]';

export type GuestJournal = Pick<Journal, 'lines' | 'closed' | 'follow' | 'write'>;

/** Takes secrets out of texts. */
type Hide = (texts: readonly string[]) => Promise<readonly string[]>;

/**
 * Output of guests, from the journal: with the run that wrote it, and without their tokens. Units are named without
 * their ending.
 */
export class GuestOutput {
  readonly #journal: GuestJournal;
  readonly #clock: Clock;
  readonly #hide: Hide;
  readonly #guests = new Map<string, Guest>();

  constructor(journal: GuestJournal, clock: Clock, hide: Hide = async (texts) => texts) {
    this.#journal = journal;
    this.#clock = clock;
    this.#hide = hide;
  }

  conceal(unit: string, secret: string): void {
    const guest = this.#guest(unit);
    guest.secrets = [...guest.secrets, secret].slice(-MOST_SECRETS);
  }

  began(unit: string, invocation: string, run: Run): void {
    if (invocation === '') return; // it did not
    const { runs } = this.#guest(unit);
    runs.set(invocation, run);
    for (const old of [...runs.keys()].slice(0, -MOST_RUNS)) runs.delete(old);
  }

  /** The last lines may not be in the journal yet. */
  over(unit: string, invocation: string): void {
    this.#guest(unit).closing = invocation;
  }

  forget(unit: string): void {
    this.#guests.delete(unit);
  }

  /** Lines of one run alone where it is named; no lines of a run that is too long ago. */
  async lines(unit: string, most: number, run?: string): Promise<readonly OutputLine[]> {
    const runs = [...this.#guest(unit).runs];
    const at = runs.findIndex(([, one]) => one.run === run);
    if (run !== undefined && at < 0) return [];
    await this.#close(unit);
    const lines =
      run === undefined
        ? await this.#journal.lines(unit, most)
        : await this.#linesOf(unit, most, runs.slice(at, at + 2));
    return this.#hidden(lines.map((line) => this.#told(unit, line)));
  }

  /** Lines of one run: those that the journal knows by its start, and others by their time. */
  async #linesOf(unit: string, most: number, [one, next]: readonly [string, Run][]): Promise<readonly JournalLine[]> {
    const [invocation, { since }] = one!;
    const known = await this.#journal.lines(unit, most, { invocation });
    const found = await this.#journal.lines(unit, most, { since, until: next?.[1].since });
    const untold = found.filter((line) => line.invocation === undefined);
    return [...known, ...untold].sort((a, b) => a.line.at - b.line.at).slice(-most);
  }

  async write(unit: string, line: Pick<OutputLine, 'level' | 'text' | 'fields'>): Promise<void> {
    const [hidden] = await this.#hidden([line]);
    await this.#journal.write(unit, hidden!);
  }

  listen(unit: string, listener: (line: OutputLine) => void): Disposable {
    let turn = Promise.resolve();
    let over = false;
    const following = this.#journal.follow(unit, (line) => {
      const told = this.#hidden([this.#told(unit, line)]); // never rejects
      turn = turn.then(async () => {
        const [hidden] = await told;
        if (!over) listener(hidden!);
      });
    });
    return {
      [Symbol.dispose]: () => {
        over = true;
        following[Symbol.dispose]();
      },
    };
  }

  /** The journal is not the Core's: what guests wrote stands there as they wrote it. What is read of it is hidden. */
  async #hidden<T extends Pick<OutputLine, 'text' | 'fields'>>(lines: readonly T[]): Promise<readonly T[]> {
    const texts = lines.flatMap(({ text, fields }) => [text, fields === undefined ? '' : JSON.stringify(fields)]);
    const hidden = await this.#hide(texts).catch(() => undefined);
    if (hidden === undefined)
      return lines.map(({ fields: _, ...line }) => ({ ...line, text: WITHHELD }) as unknown as T);
    return lines.map((line, index) => ({
      ...line,
      text: hidden[2 * index]!,
      ...(line.fields === undefined ? {} : { fields: JSON.parse(hidden[2 * index + 1]!) }),
    }));
  }

  async #close(unit: string): Promise<void> {
    const guest = this.#guest(unit);
    const until = this.#clock.monotonic() + CLOSING_MS;
    while (guest.closing !== undefined && this.#clock.monotonic() < until) {
      if (await this.#journal.closed(unit, guest.closing)) break;
      await this.#clock.sleep(LOOK_MS);
    }
    delete guest.closing;
  }

  #told(unit: string, { line, invocation }: JournalLine): OutputLine {
    const { runs, secrets } = this.#guest(unit);
    const known = invocation === undefined ? runAt([...runs.values()], line.at) : runs.get(invocation)?.run;
    const text = secrets.reduce((all, secret) => all.replaceAll(secret, '[redacted]'), line.text);
    return { ...line, text, ...maybe({ run: known }) };
  }

  #guest(unit: string): Guest {
    const guest = this.#guests.get(unit) ?? { runs: new Map<string, Run>(), secrets: [] };
    this.#guests.set(unit, guest);
    return guest;
  }
}

/** The run that went on at that time: there is one at a time. */
function runAt(runs: readonly Run[], time: number): string | undefined {
  return runs.findLast(({ since }) => since <= time)?.run;
}
