/** Messages to an app in their order: what waits until it reads on is bounded, and drops are counted. */
import { CoreError } from '@device-core/plugin-api';
import type { Counters } from './counters.ts';
import type { RpcConfig } from './limits.ts';
import type { Outgoing } from './outgoing.ts';
import type { Cut } from './raw-parts.ts';

export type SessionState = 'opening' | 'open' | 'draining' | 'closed';

export interface SenderParts {
  readonly app: string;
  readonly signal: AbortSignal;
  readonly outgoing: Outgoing;
  readonly config: RpcConfig;
  readonly counters: Counters;
  readonly state: () => SessionState;
}

interface Waiting {
  readonly json: string;
  readonly attachment: Uint8Array | undefined;
  readonly resolve: () => void;
  readonly reject: (error: CoreError) => void;
}

const TAKEN = Promise.resolve();
const ignore = (): void => undefined;

export class SessionSender {
  readonly #parts: SenderParts;
  readonly #waiting: Waiting[] = [];
  #waitingBytes = 0;

  constructor(parts: SenderParts) {
    this.#parts = parts;
  }

  /** Throws what encode() throws. */
  put(message: object, parts: Cut | undefined): void {
    if (!parts) {
      this.#parts.outgoing.send(this.encode(message));
      return;
    }
    const { before, bytes, after } = parts;
    this.#checkLength(Buffer.byteLength(before) + bytes.length + Buffer.byteLength(after));
    this.#parts.outgoing.sendCut(parts);
  }

  /** For short messages that must not be lost and not overtake those that wait. */
  sendInOrder(message: object): void {
    if (this.#parts.state() === 'closed') return;
    const json = this.encode(message);
    if (this.#parts.state() !== 'opening' && this.#waiting.length === 0) this.#parts.outgoing.send(json);
    else this.#wait({ json, attachment: undefined, resolve: ignore, reject: ignore });
  }

  #wait(message: Waiting): void {
    this.#waiting.push(message);
    this.#waitingBytes += message.json.length + (message.attachment?.length ?? 0);
  }

  deliver(json: string, attachment: Uint8Array | undefined): Promise<void> {
    if (this.#parts.state() === 'closed') return Promise.reject(this.#parts.signal.reason);
    if (this.#parts.state() !== 'opening' && this.#waiting.length === 0 && !this.#parts.outgoing.full) {
      this.#parts.outgoing.send(json, attachment);
      return TAKEN;
    }
    const { waiting, outgoingMaxBytes } = this.#parts.config;
    const bytes = json.length + (attachment?.length ?? 0);
    if (this.#waiting.length >= waiting || this.#waitingBytes + bytes > outgoingMaxBytes) {
      this.#parts.counters.notificationsDropped++;
      const details = {
        what: `a notification to ${this.#parts.app}`,
        reason: 'the app does not read',
        retryAfterMs: 1_000,
      };
      return Promise.reject(new CoreError('QUEUE_FULL', details));
    }
    return new Promise((resolve, reject) => this.#wait({ json, attachment, resolve, reject }));
  }

  /** Throws BODY_TOO_LARGE, or what JSON.stringify throws. */
  encode(message: object): string {
    const json = JSON.stringify(message);
    // A character takes at most three bytes: only a long text has to be measured.
    if (json.length * 3 > this.#parts.config.lineBytes) this.#checkLength(Buffer.byteLength(json));
    return json;
  }

  /** Throws BODY_TOO_LARGE. */
  #checkLength(bytes: number): void {
    const limit = this.#parts.config.lineBytes;
    if (bytes > limit) throw new CoreError('BODY_TOO_LARGE', { limit, what: 'message' });
  }

  /** Sends what waits, as long as there is room. */
  flush(): void {
    const { outgoing } = this.#parts;
    let sent = 0;
    while (sent < this.#waiting.length && !outgoing.full) {
      const { json, attachment, resolve } = this.#waiting[sent++]!;
      this.#waitingBytes -= json.length + (attachment?.length ?? 0);
      outgoing.send(json, attachment);
      resolve();
    }
    if (sent > 0) this.#waiting.splice(0, sent);
  }

  /** The session is over: what waits is not sent. */
  reject(why: CoreError): void {
    for (const { reject } of this.#waiting.splice(0)) reject(why);
  }
}
