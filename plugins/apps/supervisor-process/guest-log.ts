import { mkdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Clock, maybe } from '@device-core/plugin-api';
import { appendFile } from '@device-core/plugin-api/durable';
import { StreamRedaction } from '@device-core/plugin-api/inside/redact-stream';
import type { OutputLine, OutputStream } from '@device-core/plugin-api/inside/services/app-supervisor';
import { ByteRate } from './byte-rate.ts';
import { entryOf, lineOf, linesOf } from './output-entry.ts';

/** Lines of each stream. A stack of a long chain of causes fits. */
const TAIL_LINES = 80;
const TAIL_WIDTH = 400;
/** Characters of what is dropped. */
const LAST_WORDS = 4_096;
const KIB = 1_024;
/** Bytes that stand beside the text of each line: a line of nothing is not free. */
const LINE_COSTS = 64;
/** One write to the file. */
const BATCH = 8_192;
/** One look for secrets. */
const LONGEST_PIECE = 65_536;
/** So much of an endless line stays behind for the next look: the longest secret. */
const CARRIED = 16_384;
/** Places where such a line may be cut. */
const CUTS = [0, 4_099, 8_209, CARRIED, 2 * CARRIED] as const;
/** A guest whose lines were dropped may then be silent for days: the line that counts them comes after so much silence. */
const SILENT_MS = 2_000;
/** Tokens of launches that may still be printed: the present one and that before it. */
const MOST_SECRETS = 2;

export interface GuestLogOptions {
  readonly file: string;
  /** Bytes. */
  readonly limit: number;
  readonly clock: Clock;
  readonly onError: (thrown: unknown) => void;
  /** Once for all that is dropped in a row. */
  readonly onDrop?: () => void;
  /** A wait after each piece that is dropped: to look at it for last words costs others their time. */
  readonly paced?: () => Promise<unknown>;
  /** Takes secrets out of texts. */
  readonly hide?: (texts: readonly string[]) => Promise<readonly string[]>;
}

/**
 * A guest's log file: one JSON object a line, with time and level. It is put aside as `<file>.1` when it is full. A
 * writer waits for the disk: nothing piles up and nothing is lost.
 */
export class GuestLog {
  readonly #options: GuestLogOptions;
  #turn: Promise<void> = Promise.resolve();
  /** By where they came from, each line with its number. */
  #tails: Record<OutputStream, (readonly [number: number, line: OutputLine])[]> = {
    stdout: [],
    stderr: [],
    log: [],
  };
  #count = 0;
  readonly #listeners = new Set<(line: OutputLine) => void>();
  #failing = false;
  #rate: ByteRate | undefined;
  #dropped = { lines: 0, bytes: 0 };
  #silence: Disposable | undefined;
  #secrets: readonly string[] = [];

  constructor(options: GuestLogOptions) {
    this.#options = options;
  }

  /** A text that is never written: the token of a launch. The last two are remembered. */
  conceal(secret: string): void {
    this.#secrets = [...this.#secrets, secret].slice(-MOST_SECRETS);
  }

  /** KiB a second from now on; a guest may write the like of several seconds at once, and what is more is dropped. */
  limit(kibPerSecond: number): void {
    if (this.#rate?.perSecond !== kibPerSecond) this.#rate = new ByteRate(kibPerSecond);
  }

  /** Output of a process until it ends; the last lines of it are kept at hand. */
  async follow(output: AsyncIterable<string>, stream: 'stdout' | 'stderr', run: string): Promise<void> {
    let rest = '';
    const redaction = new StreamRedaction();
    try {
      // A secret may stand in two pieces of output: what is looked at ends with a line, and where there is no end of
      // one, the last of it waits.
      for await (const text of output) {
        rest += text;
        for (let cut = await this.#cut(rest); cut > 0; cut = await this.#cut(rest)) {
          await this.#take(rest.slice(0, cut), stream, run, redaction);
          rest = rest.slice(cut);
        }
      }
      if (rest !== '') await this.#take(rest, stream, run, redaction);
      await this.#tellDropped();
    } catch (thrown) {
      this.#options.onError(thrown);
    }
  }

  /** A line that came another way. Never rejects: a guest runs on although its log cannot be written. */
  async write({ level, text, fields: given }: Pick<OutputLine, 'level' | 'text' | 'fields'>): Promise<void> {
    const hidden = await this.#hide(given ? [text, JSON.stringify(given)] : [text]);
    const [msg = '', inside] = hidden ?? [withheld(1)];
    const fields = inside === undefined ? undefined : (JSON.parse(inside) as OutputLine['fields']);
    const at = this.#options.clock.now();
    this.#note({ at, level, from: 'log', text: msg, ...maybe({ fields }) });
    await this.#write(`${JSON.stringify({ level, time: at, msg, ...maybe({ fields }) })}\n`);
  }

  /** The newest lines, the oldest of them first; of a run alone, at most the tails of its streams. */
  async lines(most: number, run?: string): Promise<readonly OutputLine[]> {
    const numbered = Object.values(this.#tails)
      .flat()
      .toSorted(([a], [b]) => a - b);
    const kept = numbered.map(([, line]) => line);
    if (run !== undefined) return kept.filter((line) => line.run === run).slice(-most);
    // If one stream wrote much more than another, lines are missing between the kept ones.
    if (numbered.at(-most)?.[0] === this.#count - most) return kept.slice(-most);
    const all = await this.#read(most + kept.length);
    const whole = kept.length === this.#count;
    return (whole ? [...all.slice(0, Math.max(0, all.length - kept.length)), ...kept] : all).slice(-most);
  }

  listen(listener: (line: OutputLine) => void): Disposable {
    const entry = (line: OutputLine) => listener(line);
    this.#listeners.add(entry);
    return { [Symbol.dispose]: () => void this.#listeners.delete(entry) };
  }

  async #take(text: string, stream: 'stdout' | 'stderr', run: string, redaction: StreamRedaction): Promise<void> {
    const { clock } = this.#options;
    const taken = this.#rate?.take(text.length + LINE_COSTS * linesIn(text), clock.monotonic()) ?? true;
    // The end of a dropped text may yet say why the app crashed. A secret in it may begin as far before as the longest one has characters.
    const shown = taken
      ? redaction.text(text)
      : redaction.text(text.slice(-LAST_WORDS - CARRIED)).slice(-Math.min(text.length, LAST_WORDS));
    const [hidden] = (await this.#hide([shown])) ?? [];
    const lines = (hidden ?? withheld(linesIn(text) || 1)).split('\n');
    const entries = lines.filter((line) => line !== '').map((line) => entryOf(line, stream, clock.now()));
    for (const entry of entries) this.#note(lineOf(entry, run), taken);
    if (!taken) {
      this.#drop(text);
      await this.#options.paced?.();
      return;
    }
    await this.#tellDropped();
    // A file that is put aside ends with a whole line.
    let batch = '';
    for (const entry of entries) {
      // The level tells enough of where it was printed.
      const { from: _from, ...line } = entry;
      batch += `${JSON.stringify(line)}\n`;
      if (batch.length < BATCH) continue;
      await this.#write(batch);
      batch = '';
    }
    if (batch !== '') await this.#write(batch);
  }

  #drop(text: string): void {
    if (this.#dropped.lines === 0) this.#options.onDrop?.();
    const lines = linesIn(text) || 1;
    this.#dropped = { lines: this.#dropped.lines + lines, bytes: this.#dropped.bytes + text.length };
    this.#silence?.[Symbol.dispose]();
    this.#silence = this.#options.clock.after(SILENT_MS, () => void this.#tellDropped());
  }

  async #tellDropped(): Promise<void> {
    const { lines, bytes } = this.#dropped;
    if (lines === 0) return;
    this.#silence?.[Symbol.dispose]();
    this.#silence = undefined;
    this.#dropped = { lines: 0, bytes: 0 };
    const kib = Math.ceil(bytes / KIB);
    const text = `${lines} lines (${kib} KiB) were dropped here: it wrote more than ${this.#rate?.perSecond} KiB a second`;
    await this.write({ level: 'warn', text });
  }

  #note(line: OutputLine, told = true): void {
    const { from, text } = line;
    const tail = this.#tails[from];
    tail.push([this.#count++, text.length > TAIL_WIDTH ? { ...line, text: text.slice(0, TAIL_WIDTH) } : line]);
    if (tail.length > TAIL_LINES) tail.shift();
    if (told) for (const listener of this.#listeners) listener(line);
  }

  /** Text of whole lines. */
  #write(text: string): Promise<void> {
    this.#turn = this.#turn
      .then(() => this.#appendAll(Buffer.from(text, 'utf8')))
      .then(
        () => {
          this.#failing = false;
        },
        (thrown) => {
          // A full disk makes one message, and not one for every line.
          if (!this.#failing) this.#options.onError(thrown);
          this.#failing = true;
        },
      );
    return this.#turn;
  }

  /** From the file and, where that is not enough, from the one put aside. */
  async #read(most: number): Promise<readonly OutputLine[]> {
    await this.#turn;
    const { file } = this.#options;
    const now = linesOf(await textOf(file));
    if (now.length >= most) return now.slice(-most);
    return [...linesOf(await textOf(`${file}.1`)), ...now].slice(-most);
  }

  /** The end of the next look; 0: more text has to come first. An endless line is cut where nothing is found across the cut. */
  async #cut(text: string): Promise<number> {
    const end = text.lastIndexOf('\n', LONGEST_PIECE - 1) + 1;
    if (end > 0 || text.length <= LONGEST_PIECE) return end;
    const all = text.slice(0, LONGEST_PIECE);
    for (const less of CUTS) {
      const cut = all.length - CARRIED - less;
      const [whole, before, behind] = (await this.#hide([all, all.slice(0, cut), all.slice(cut)])) ?? [];
      if (whole === undefined || whole === `${before}${behind}`) return cut;
    }
    return all.length;
  }

  /** Texts without tokens of launches and without secrets of the device. Undefined where the look failed: they must not be written then. */
  async #hide(texts: readonly string[]): Promise<readonly string[] | undefined> {
    const own = texts.map((text) => this.#secrets.reduce((all, one) => all.replaceAll(one, '[redacted]'), text));
    return this.#options.hide ? this.#options.hide(own).catch(() => undefined) : own;
  }

  /** One read of a busy pipe may be more than a whole file takes. */
  async #appendAll(bytes: Buffer): Promise<void> {
    const { limit } = this.#options;
    for (let from = 0; from < bytes.length; from += limit) await this.#append(bytes.subarray(from, from + limit));
  }

  async #append(bytes: Buffer): Promise<void> {
    const { file, limit } = this.#options;
    await mkdir(dirname(file), { recursive: true, mode: 0o750 });
    await appendFile(file, bytes, { mode: 0o640, sync: false, most: limit });
  }
}

function withheld(lines: number): string {
  return `[withheld: ${lines} lines, secrets could not be looked for in them]`;
}

function linesIn(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++;
  return count;
}

async function textOf(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ENOENT') return '';
    throw thrown;
  });
}
