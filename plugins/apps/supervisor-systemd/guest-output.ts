import type { Clock, OutputLine } from '@device-core/plugin-api';
import type { Journal } from './journal.ts';
import type { JournalLine } from './journal-line.ts';

/** Starts of a guest whose lines are told with their run. */
const MOST_RUNS = 8;
/** Tokens of launches that may still be printed: the present one and that before it. */
const MOST_SECRETS = 2;

interface Guest {
  /** systemd's name of a start -> the supervisor's. */
  readonly runs: Map<string, string>;
  secrets: readonly string[];
  /** A start that has ended, of which lines may be on their way. */
  closing?: string;
}

/** How long, and how often, it is looked for the last lines of a guest. */
const CLOSING_MS = 1_500;
const LOOK_MS = 50;

/** What guests wrote, from the journal: with the run that wrote it, and without their tokens. Units are named without their ending. */
export class GuestOutput {
  readonly #journal: Journal;
  readonly #clock: Clock;
  readonly #guests = new Map<string, Guest>();

  constructor(journal: Journal, clock: Clock) {
    this.#journal = journal;
    this.#clock = clock;
  }

  conceal(unit: string, secret: string): void {
    const guest = this.#guest(unit);
    guest.secrets = [...guest.secrets, secret].slice(-MOST_SECRETS);
  }

  began(unit: string, invocation: string, run: string): void {
    const { runs } = this.#guest(unit);
    runs.set(invocation, run);
    for (const old of [...runs.keys()].slice(0, -MOST_RUNS)) runs.delete(old);
  }

  /** What it wrote last may not be in the journal yet. */
  over(unit: string, invocation: string): void {
    this.#guest(unit).closing = invocation;
  }

  forget(unit: string): void {
    this.#guests.delete(unit);
  }

  /** Of one run alone where it is named; nothing of a run that is too long ago. */
  async lines(unit: string, most: number, run?: string): Promise<readonly OutputLine[]> {
    const [invocation] = [...this.#guest(unit).runs].find(([, one]) => one === run) ?? [];
    if (run !== undefined && invocation === undefined) return [];
    await this.#close(unit);
    return (await this.#journal.lines(unit, most, invocation)).map((line) => this.#told(unit, line));
  }

  write(unit: string, line: Pick<OutputLine, 'level' | 'text' | 'fields'>): Promise<void> {
    return this.#journal.write(unit, line);
  }

  listen(unit: string, listener: (line: OutputLine) => void): Disposable {
    return this.#journal.follow(unit, (line) => listener(this.#told(unit, line)));
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
    const run = runs.get(invocation);
    const text = secrets.reduce((all, secret) => all.replaceAll(secret, '[redacted]'), line.text);
    return { ...line, text, ...(run === undefined ? {} : { run }) };
  }

  #guest(unit: string): Guest {
    const guest = this.#guests.get(unit) ?? { runs: new Map<string, string>(), secrets: [] };
    this.#guests.set(unit, guest);
    return guest;
  }
}
