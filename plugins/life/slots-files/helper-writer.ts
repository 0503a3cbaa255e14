import { connect } from 'node:net';
import { CoreError, reasonOf, type Scope } from '@device-core/plugin-api';
import type { Heeding, SlotAnswer } from '@device-core/plugin-api/inside/slot-files';
import { outcome, type SlotRequest, type Writer } from './writer.ts';

/** An image of a gigabyte on a slow card. */
const STAGE_MS = 3_600_000;
/** A list of 10^5 files is read and judged. */
const ANSWER_MS = 60_000;
const LONGEST_ANSWER = 32 << 20;

/** Asks the helper of root over its socket. */
export class HelperWriter implements Writer {
  readonly kind = 'helper';
  readonly #path: string;
  readonly #scope: Scope;

  constructor(path: string, scope: Scope) {
    this.#path = path;
    this.#scope = scope;
  }

  async ask(request: SlotRequest, { progress, signal }: Heeding = {}): Promise<unknown> {
    const ms = request.verb === 'stage' ? STAGE_MS : ANSWER_MS;
    const asked = this.#scope.within(
      `the helper of the slots: ${request.verb}`,
      ms,
      (ended) => this.#answer(JSON.stringify(request), ended, progress),
      { signal },
    );
    const answer = await asked.catch((thrown: unknown) => {
      if (thrown instanceof CoreError) throw thrown;
      const reason = `its helper does not answer: ${reasonOf(thrown)}`;
      throw new CoreError('SLOTS_UNAVAILABLE', { verb: request.verb, reason }, { cause: thrown });
    });
    return outcome(request, answer);
  }

  #answer(request: string, signal: AbortSignal, progress: Heeding['progress']): Promise<SlotAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<SlotAnswer>();
    const socket = connect({ path: this.#path, signal });
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
        const line = wordIn(text.slice(0, end));
        text = text.slice(end + 1);
        if (line === undefined) return void socket.destroy(new Error('its answer cannot be read'));
        if ('progress' in line) void progress?.(line.progress);
        else resolve(line);
      }
      if (text.length > LONGEST_ANSWER) socket.destroy(new Error('its answer has no end'));
    });
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('it ended before it answered')));
    socket.write(`${request}\n`);
    return promise;
  }
}

/** Undefined for what no helper says. */
function wordIn(line: string): SlotAnswer | { readonly progress: { done: number; of: number } } | undefined {
  try {
    const word: unknown = JSON.parse(line);
    return typeof word === 'object' && word !== null ? (word as SlotAnswer) : undefined;
  } catch {
    return undefined;
  }
}
