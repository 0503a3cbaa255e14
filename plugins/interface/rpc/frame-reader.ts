/**
 * Bytes of an app socket to messages (decisions D9): one JSON value a line; several values in one line and values that
 * no newline follows are read, too. A message with the member `bytes: N` is followed, after its newline, by N raw
 * bytes. A newline always ends what went before, so that the reader finds its feet again after rubbish.
 */
import { isUtf8 } from 'node:buffer';
import { CoreError, isNestedDeeperThan, MAX_JSON_DEPTH, reasonOf } from '@device-core/plugin-api';
import { MAX_JSON_VALUES, tooManyValues } from '../shared/json-values.ts';
import { ByteList } from './byte-list.ts';
import { keepSources } from './raw-parts.ts';
import { isBlank, ValueScanner } from './value-scanner.ts';

const NEWLINE = 0x0a;
const NOTHING = Buffer.alloc(0);

export interface FrameSink {
  message(value: unknown, attachment: Buffer | undefined): void;
  /** The bytes are no message; reading goes on behind them. */
  malformed(error: CoreError): void;
  /** Nothing that follows could be understood: the connection has to end. */
  fatal(error: CoreError): void;
}

/** A line with several values, and where the next of them begins. */
interface Several {
  readonly line: Buffer;
  readonly scanner: ValueScanner;
  /** Why the line as a whole is no value. */
  readonly error: CoreError;
  from: number;
}

type Mode = 'text' | 'newline' | 'attachment' | 'ended';

export class FrameReader {
  readonly #sink: FrameSink;
  readonly #lineBytes: number;
  readonly #attachmentBytes: number;
  readonly #kept = new ByteList();
  readonly #scanner = new ValueScanner();
  #mode: Mode = 'text';
  /** The message whose attachment is awaited, and how many bytes of it are missing. */
  #head: unknown;
  #missing = 0;
  #paused = false;
  #several: Several | undefined;
  #rest: Buffer | undefined;

  constructor(sink: FrameSink, limits: { readonly lineBytes: number; readonly attachmentBytes: number }) {
    this.#sink = sink;
    this.#lineBytes = limits.lineBytes;
    this.#attachmentBytes = limits.attachmentBytes;
  }

  /** Not to be called while it is paused. */
  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length && this.#mode !== 'ended') {
      if (this.#paused) {
        this.#rest = chunk.subarray(at);
        return;
      }
      if (this.#mode === 'text') at = this.#text(chunk, at);
      else if (this.#mode === 'newline') at = this.#newline(chunk, at);
      else at = this.#attachment(chunk, at);
    }
  }

  /** Keeps the rest of the chunk for later. */
  pause(): void {
    this.#paused = true;
  }

  /** Goes on with the rest, at once. */
  resume(): void {
    this.#paused = false;
    if (this.#several) this.#lineRead();
    if (this.#paused) return;
    const rest = this.#rest;
    this.#rest = undefined;
    if (rest) this.push(rest);
  }

  /** The peer will send no more: a last message needs no newline. */
  end(): void {
    if (this.#mode === 'text') {
      const rest = this.#kept.take(NOTHING);
      if (rest.length > 0) this.#line(rest);
      for (this.#paused = false; this.#several; this.#paused = false) this.#values(this.#several);
    }
    if (this.#mode === 'newline' || this.#mode === 'attachment')
      this.#sink.malformed(invalid(`the connection ended ${this.#missing} bytes before the end of an attachment`));
    this.stop();
  }

  /** Ignores whatever comes. */
  stop(): void {
    this.#mode = 'ended';
    this.#head = undefined;
    this.#rest = undefined;
    this.#several = undefined;
    this.#kept.clear();
  }

  #text(chunk: Buffer, from: number): number {
    const newline = chunk.indexOf(NEWLINE, from);
    if (newline < 0) return this.#unfinished(chunk, from);
    const last = chunk.subarray(from, newline);
    if (this.#kept.length + last.length > this.#lineBytes) return this.#tooLong(chunk);
    const line = this.#kept.take(last);
    this.#scanner.reset();
    this.#line(line);
    this.#lineRead();
    return newline + 1;
  }

  /** Goes on with the values of a line; its attachment begins when all of them were read. */
  #lineRead(): void {
    if (this.#several) this.#values(this.#several);
    if (this.#several) return;
    if (this.#mode === 'newline') this.#mode = 'attachment';
    if (this.#mode === 'attachment' && this.#missing === 0) this.#deliver(NOTHING);
  }

  /** No newline in sight: a peer that sends none must be understood as soon as its value is complete. */
  #unfinished(chunk: Buffer, from: number): number {
    const end = this.#scanner.feed(chunk, from);
    const last = chunk.subarray(from, end < 0 ? chunk.length : end);
    if (this.#kept.length + last.length > this.#lineBytes) return this.#tooLong(chunk);
    if (end < 0) {
      this.#kept.push(last);
      return chunk.length;
    }
    const value = this.#kept.take(last);
    this.#scanner.reset();
    this.#value(value);
    return end;
  }

  /** A whole line: as a rule one value, else several in a row. */
  #line(line: Buffer): void {
    let at = 0;
    while (at < line.length && isBlank(line[at]!)) at++;
    if (at === line.length) return;
    const parsed = parse(line);
    if (!(parsed instanceof CoreError)) {
      this.#accept(parsed.value);
      return;
    }
    // Several values in a line are no way around the bound of one.
    if (parsed.details.limit === undefined)
      this.#several = { line, scanner: new ValueScanner(), error: parsed, from: 0 };
    else this.#sink.malformed(parsed);
  }

  /** Reads values up to a pause. */
  #values(several: Several): void {
    const { line, scanner, error } = several;
    while (this.#mode === 'text') {
      if (this.#paused) return;
      const { from } = several;
      const end = scanner.feed(line, from);
      if (end < 0 || (from === 0 && end === line.length)) break; // nothing more, or the one value that cannot be parsed
      several.from = end;
      scanner.reset();
      this.#value(line.subarray(from, end));
    }
    this.#several = undefined;
    const { from } = several;
    if (this.#mode === 'ended' || isBlankFrom(line, from)) return;
    if (this.#mode !== 'text') this.#fail(invalid('an attachment begins behind the newline of its message'));
    else this.#sink.malformed(from === 0 ? error : invalid(`there is something else behind byte ${from} of the line`));
  }

  #value(bytes: Buffer): void {
    const parsed = parse(bytes);
    if (parsed instanceof CoreError) this.#sink.malformed(parsed);
    else this.#accept(parsed.value);
  }

  #accept(value: unknown): void {
    const bytes = (value as { readonly bytes?: unknown } | null)?.bytes;
    if (bytes === undefined) {
      this.#sink.message(value, undefined);
      return;
    }
    if (!Number.isSafeInteger(bytes) || (bytes as number) < 0) {
      this.#sink.malformed(invalid('member bytes must be the length of the attachment'));
      return;
    }
    if ((bytes as number) > this.#attachmentBytes) {
      this.#fail(new CoreError('BODY_TOO_LARGE', { limit: this.#attachmentBytes, what: 'attachment' }));
      return;
    }
    this.#head = value;
    this.#missing = bytes as number;
    this.#mode = 'newline';
  }

  #newline(chunk: Buffer, from: number): number {
    const byte = chunk[from]!;
    if (byte === NEWLINE) {
      this.#mode = 'attachment';
      if (this.#missing === 0) this.#deliver(NOTHING);
    } else if (!isBlank(byte)) this.#fail(invalid('an attachment begins behind the newline of its message'));
    return from + 1;
  }

  #attachment(chunk: Buffer, from: number): number {
    const last = chunk.subarray(from, from + this.#missing);
    this.#missing -= last.length;
    if (this.#missing > 0) this.#kept.push(last);
    else this.#deliver(this.#kept.take(last));
    return from + last.length;
  }

  #deliver(attachment: Buffer): void {
    const head = this.#head;
    this.#head = undefined;
    this.#mode = 'text';
    this.#sink.message(head, attachment);
  }

  #tooLong(chunk: Buffer): number {
    this.#fail(new CoreError('BODY_TOO_LARGE', { limit: this.#lineBytes, what: 'message' }));
    return chunk.length;
  }

  #fail(error: CoreError): void {
    this.stop();
    this.#sink.fatal(error);
  }
}

function parse(bytes: Buffer): { readonly value: unknown } | CoreError {
  const reason = tooManyValues(bytes);
  if (reason) return new CoreError('JSON_INVALID', { reason, limit: MAX_JSON_VALUES });
  const text = bytes.toString();
  // The decoder puts U+FFFD where the bytes are not UTF-8; it may stand in the text itself, too.
  if (text.includes('\ufffd') && !isUtf8(bytes)) return new CoreError('JSON_INVALID', { reason: 'it is not UTF-8' });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (thrown) {
    return new CoreError('JSON_INVALID', { reason: reasonOf(thrown) }, { cause: thrown });
  }
  if (text.length > 2 * MAX_JSON_DEPTH && isNestedDeeperThan(value, MAX_JSON_DEPTH))
    return new CoreError('JSON_INVALID', { reason: `it is nested deeper than ${MAX_JSON_DEPTH} levels` });
  keepSources(value, bytes);
  return { value };
}

function isBlankFrom(bytes: Buffer, from: number): boolean {
  for (let at = from; at < bytes.length; at++) if (!isBlank(bytes[at]!)) return false;
  return true;
}

function invalid(reason: string): CoreError {
  return new CoreError('REQUEST_INVALID', { reason });
}
