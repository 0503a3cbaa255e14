import { connect } from 'node:net';
import { CoreError, reasonOf, type Scope } from '@device-core/plugin-api';
import type { AppSpec } from '@device-core/plugin-api/inside/app-spec';

export type WardenRequest =
  | { readonly verb: 'put'; readonly spec: AppSpec }
  | { readonly verb: 'drop' | 'own' | 'start' | 'stop' | 'kill'; readonly name: string }
  | { readonly verb: 'limit'; readonly name: string; readonly cpuPercent: number }
  | { readonly verb: 'release'; readonly id: string }
  | { readonly verb: 'list' | 'reclaim' };

/** A reload of all units may be part of it. */
const ANSWER_MS = 90_000;
const LONGEST_ANSWER = 262_144;

/** Asks the root helper of this device. */
export class WardenClient {
  readonly #path: string;
  readonly #scope: Scope;

  constructor(path: string, scope: Scope) {
    this.#path = path;
    this.#scope = scope;
  }

  /**
   * Throws WARDEN_REFUSED with its reason, and UNAVAILABLE where it could not be asked, did not get to an answer or was
   * hindered by the system.
   */
  async ask(request: WardenRequest): Promise<unknown> {
    const subject =
      'spec' in request
        ? request.spec.name
        : 'name' in request
          ? request.name
          : 'id' in request
            ? request.id
            : undefined;
    const what = subject === undefined ? `the ${request.verb}` : `${request.verb} of ${subject}`;
    const line = await this.#scope
      .within(`the warden: ${what}`, ANSWER_MS, (signal) => this.#line(JSON.stringify(request), signal))
      .catch((thrown: unknown) => {
        if (thrown instanceof CoreError) throw thrown;
        throw new CoreError('UNAVAILABLE', { what: 'the warden', reason: reasonOf(thrown) }, { cause: thrown });
      });
    const { ok, refused, failed } = parsed(line);
    if (refused !== undefined) throw new CoreError('WARDEN_REFUSED', { what, reason: refused });
    if (failed !== undefined) throw new CoreError('UNAVAILABLE', { what: `the warden for ${what}`, reason: failed });
    return ok;
  }

  #line(request: string, signal: AbortSignal): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const socket = connect({ path: this.#path, signal });
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      if (text.length > LONGEST_ANSWER) socket.destroy(new Error('its answer has no end'));
    });
    socket.on('error', reject);
    socket.on('close', () => (text.endsWith('\n') ? resolve(text) : reject(new Error('it ended before it answered'))));
    socket.write(`${request}\n`);
    return promise;
  }
}

function parsed(line: string): { readonly ok?: unknown; readonly refused?: string; readonly failed?: string } {
  try {
    return JSON.parse(line) as object;
  } catch {
    return { failed: 'its answer is no JSON' };
  }
}
