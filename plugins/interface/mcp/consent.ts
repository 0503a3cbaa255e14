/**
 * Consent to one call of a function that is not idempotent. A client that can ask its person gets `input_required`;
 * else the device asks, on its panel and in devicectl. Silence is no.
 */
import { createHmac, hash as digest, randomBytes, timingSafeEqual } from 'node:crypto';
import { type Clock, CoreError } from '@device-core/plugin-api';
import type { Prompts } from '@device-core/plugin-api/services/prompts';
import { CODE, isMembers, Refusal } from './messages.ts';
import type { FunctionTool } from './tools.ts';

export const CONSENT_MS = 120_000;
/** Answers that were used, so that none counts twice. */
const MOST_USED = 1_024;
const SHOWN = 1_000;
const KEY = 'confirm';

const REASONS = {
  answered: 'the person before the device refused it',
  expired: 'no answer came in two minutes',
  withdrawn: 'the question was taken back',
} as const;

type Members = Readonly<Record<string, unknown>>;

export interface Act {
  readonly client: string;
  readonly tool: FunctionTool;
  readonly inputs: Members;
}

/** Result of a request that needs an answer of the client's person first. */
export interface InputRequired {
  readonly resultType: 'input_required';
  readonly inputRequests: Members;
  readonly requestState: string;
}

export class Consents {
  readonly #clock: Clock;
  /** A state of a former run is refused, and the client asks anew. */
  readonly #key = randomBytes(32);
  readonly #used = new Map<string, number>();
  readonly #asking = new Set<string>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A request to the client to ask its person. */
  request(act: Act): InputRequired {
    const until = Math.ceil(this.#clock.steady() + CONSENT_MS);
    const head = `${randomBytes(9).toString('base64url')}.${until}`;
    return {
      resultType: 'input_required',
      inputRequests: {
        [KEY]: {
          method: 'elicitation/create',
          params: {
            mode: 'form',
            message: `May ${act.client} ${wordsOf(act)}?`,
            requestedSchema: {
              type: 'object',
              properties: { allow: { type: 'boolean', title: 'Allow this call', default: false } },
              required: ['allow'],
            },
          },
        },
      },
      requestState: `${head}.${this.#sign(head, act)}`,
    };
  }

  /**
   * The answer to such a request: true where the person allowed it, false where not; undefined where there is none yet,
   * or none in the asked form. Throws Refusal for a state that is not of this call.
   */
  answer(act: Act, state: unknown, responses: unknown): boolean | undefined {
    if (responses === undefined && state === undefined) return undefined;
    if (!isMembers(responses)) throw new Refusal(400, CODE.params, 'cannot accept inputResponses: it is no object');
    // Answers without the state of a request answer none: the person is asked anew.
    if (state === undefined) return undefined;
    if (typeof state !== 'string') throw new Refusal(400, CODE.params, 'cannot accept requestState: it is no text');
    const head = this.#checked(act, state);
    const { action, content } = Object(responses[KEY]) as { readonly action?: unknown; readonly content?: unknown };
    if (action === undefined) return undefined;
    this.#use(head);
    if (action !== 'accept' || !isMembers(content)) return false;
    return content.allow === true;
  }

  /**
   * Asks the person before the device, one question of a client at a time: a second one would take the place of the
   * first under a finger. A client that goes takes its question back. Rejects with CALLER_DENIED, UNAVAILABLE, BUSY.
   */
  async ask(act: Act, prompts: Prompts | undefined, signal: AbortSignal): Promise<void> {
    const { client, tool } = act;
    const verb = `call ${tool.name} for ${client}`;
    const what = 'the person before the device';
    if (!prompts) throw new CoreError('UNAVAILABLE', { what, reason: 'nothing asks questions here' });
    if (this.#asking.has(client)) throw new CoreError('BUSY', { what: `another question of ${client}`, limit: 1 });
    const subject = `mcp.${client}`;
    const gone = () => void prompts.withdraw(subject, 'confirm').catch(() => undefined); // the board has gone, and its questions
    this.#asking.add(client);
    signal.addEventListener('abort', gone, { once: true });
    try {
      const title = `the language model client ${client}`;
      const asked = { kind: 'confirm', subject, title, act: wordsOf(act), what: [], ms: CONSENT_MS } as const;
      const { state, allow } = await prompts.ask(asked);
      if (signal.aborted) throw new CoreError('CANCELLED', { what: verb, reason: 'the client has gone' });
      if (state === 'answered' && allow.includes('yes')) return;
      throw new CoreError('CALLER_DENIED', { verb, reason: REASONS[state] });
    } finally {
      this.#asking.delete(client);
      signal.removeEventListener('abort', gone);
    }
  }

  /** The part of the state that is signed. Throws Refusal. */
  #checked(act: Act, state: string): string {
    const at = state.lastIndexOf('.');
    const head = state.slice(0, at);
    const given = Buffer.from(state.slice(at + 1));
    const wanted = Buffer.from(this.#sign(head, act));
    if (at < 0 || given.length !== wanted.length || !timingSafeEqual(given, wanted))
      throw new Refusal(400, CODE.params, 'cannot accept requestState: it was not made for this call');
    if (this.#used.has(head)) throw new Refusal(400, CODE.params, 'cannot accept requestState: it was used already');
    if (Number(head.split('.')[1]) <= this.#clock.steady())
      throw new Refusal(400, CODE.params, 'cannot accept requestState: its two minutes are over');
    return head;
  }

  #use(head: string): void {
    const now = this.#clock.steady();
    for (const [one, until] of this.#used) if (until <= now) this.#used.delete(one);
    const [oldest] = this.#used.keys();
    if (this.#used.size >= MOST_USED && oldest !== undefined)
      throw new CoreError('BUSY', { what: 'another consent', limit: MOST_USED });
    this.#used.set(head, Number(head.split('.')[1]));
  }

  #sign(head: string, { client, tool, inputs }: Act): string {
    const call = digest('sha256', JSON.stringify([client, tool.of.id, inputs]), 'hex');
    return createHmac('sha256', this.#key).update(`${head}.${call}`).digest('base64url');
  }
}

/** The act for a person: function, app and the inputs as they are. */
function wordsOf({ tool: { of }, inputs }: Act): string {
  const told = Object.keys(inputs).length === 0 ? '' : ` with ${JSON.stringify(inputs)}`;
  const cut = told.length > SHOWN ? `${told.slice(0, SHOWN)}... (${told.length} characters)` : told;
  return `call ${of.name} of ${of.app}${cut}`;
}
