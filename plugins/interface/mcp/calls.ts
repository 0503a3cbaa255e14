/** One tool call of a client: may it, does its person agree, what the ledger keeps, and what the model gets back. */
import { type Clock, CoreError } from '@device-core/plugin-api';
import type { DeparturesLedger } from '@device-core/plugin-api/inside/services/ledger';
import type { Functions } from '@device-core/plugin-api/services/functions';
import type { Prompts } from '@device-core/plugin-api/services/prompts';
import type { Clients, McpClient } from './clients.ts';
import type { Act, Consents, InputRequired } from './consent.ts';
import { CODE, isMembers, type Message, Refusal } from './messages.ts';
import { type FunctionTool, GENERIC, isTooMany, shown, type Tool, toolsOf } from './tools.ts';

/** A function has its own limit, a minute at most. */
const CALL_MS = 60_000;
const CALLER = { kind: 'plugin', id: 'mcp' } as const;
const BLOCKS: readonly string[] = ['text', 'image', 'audio', 'resource', 'resource_link'];
/** Matches of one search. */
const MOST_FOUND = 40;

type Members = Readonly<Record<string, unknown>>;

/** `client` is absent for the operator: no bearer, no limit an hour. */
export interface Asker {
  readonly name: string;
  readonly client?: McpClient;
}

export interface CallResult {
  readonly content: readonly object[];
  readonly structuredContent?: Members;
  readonly isError?: true;
}

export interface CallsOptions {
  readonly clock: Clock;
  readonly clients: Clients;
  readonly consents: Consents;
  /** Person that is asked: the client's where it can ask, or always the one before the device. */
  readonly confirm: 'client' | 'device';
  readonly services: {
    readonly functions: Functions | undefined;
    readonly ledger: DeparturesLedger | undefined;
    readonly prompts: Prompts | undefined;
  };
}

export class Calls {
  readonly #options: CallsOptions;
  /** Tools of clients that may call every app. */
  #all: Promise<readonly FunctionTool[]> | undefined;

  constructor(options: CallsOptions) {
    this.#options = options;
  }

  async list(asker: Asker): Promise<readonly Tool[]> {
    const tools = await this.#tools(asker);
    return isTooMany(tools) ? GENERIC : tools.map(shown);
  }

  /** Throws Refusal for a tool that there is not; errors of the function are a result with `isError`. */
  async call(asker: Asker, message: Message, signal: AbortSignal): Promise<CallResult | InputRequired> {
    const { name, arguments: given = {} } = message.params;
    if (typeof name !== 'string') throw new Refusal(400, CODE.params, 'cannot call a tool: its name is missing');
    if (!isMembers(given)) throw new Refusal(400, CODE.params, 'cannot call a tool: arguments is no object');
    const tools = await this.#tools(asker);
    if (isTooMany(tools) && GENERIC.some((one) => one.name === name)) {
      if (name === 'find_functions') return found(tools, given);
      if (name === 'describe_function') return answered({ ...shown(toolNamed(tools, given.name)) });
      const { inputs = {} } = given;
      if (!isMembers(inputs)) throw new Refusal(400, CODE.params, 'cannot call a function: inputs is no object');
      return this.#run({ client: asker.name, tool: toolNamed(tools, given.name), inputs }, asker, message, signal);
    }
    return this.#run({ client: asker.name, tool: toolNamed(tools, name), inputs: given }, asker, message, signal);
  }

  async #run(act: Act, asker: Asker, message: Message, signal: AbortSignal): Promise<CallResult | InputRequired> {
    const { clients } = this.#options;
    try {
      const needed = await this.#agreed(act, message, signal);
      if (needed) return needed;
      if (asker.client) {
        if (!clients.holds(asker.name)) throw new CoreError('UNAUTHENTICATED', { reason: 'its bearer was revoked' });
        clients.count(asker.client);
      }
      const result = await this.#noted(act, () => this.#call(act, signal));
      return answered(result);
    } catch (thrown) {
      // A model reads it and tries another way; a fault of the message itself is an error of the protocol.
      if (!(thrown instanceof CoreError)) throw thrown;
      return { isError: true, content: [{ type: 'text', text: thrown.toWire() }] };
    }
  }

  /** A request to the client's person; undefined where the call may be made. Rejects where it was refused. */
  async #agreed(
    act: Act,
    { revision, abilities, params }: Message,
    signal: AbortSignal,
  ): Promise<InputRequired | undefined> {
    const { consents, confirm, services } = this.#options;
    if (act.tool.of.idempotent === true) return undefined;
    const asks = confirm === 'client' && revision === '2026-07-28' && isMembers(abilities.elicitation);
    if (!asks) {
      await consents.ask(act, services.prompts, signal);
      return undefined;
    }
    const answer = consents.answer(act, params.requestState, params.inputResponses);
    if (answer === undefined) return consents.request(act);
    if (answer) return undefined;
    throw new CoreError('CALLER_DENIED', {
      verb: `call ${act.tool.name}`,
      reason: 'the person at the client refused it',
    });
  }

  #call({ tool, inputs }: Act, signal: AbortSignal): Promise<Members> {
    const { clock, services } = this.#options;
    const { functions } = services;
    const { app, name, version } = tool.of;
    if (!functions)
      throw new CoreError('UNAVAILABLE', { what: 'functions of apps', reason: 'they are not served now' });
    return functions.call({ app, name, version, inputs, caller: CALLER, signal, deadline: clock.steady() + CALL_MS });
  }

  /**
   * A call leaves a line of the ledger, or its result does not leave the device; one that cannot be repeated is not
   * made before its line is durable. Inputs may be secret, and are not kept.
   */
  async #noted({ client, tool: { of } }: Act, call: () => Promise<Members>): Promise<Members> {
    const { ledger } = this.#options.services;
    if (!ledger)
      throw new CoreError('UNAVAILABLE', { what: 'the ledger', reason: 'no call is made that it does not keep' });
    const details = { function: of.name, version: of.version };
    const line = ledger.write({ part: 'mcp', for: `app.${of.app}`, to: client, what: 'call', details });
    if (of.idempotent !== true) await line;
    const [result] = await Promise.all([call(), line]);
    return result;
  }

  async #tools({ client }: Asker): Promise<readonly FunctionTool[]> {
    const apps = client?.apps;
    if (apps === undefined) {
      this.#all ??= this.#read();
      return this.#all;
    }
    const { functions } = this.#options.services;
    const all = (await functions?.list()) ?? [];
    return toolsOf(all.filter(({ app }) => apps.includes(app)));
  }

  /** A call looks its tool up: the list is made once between two changes. */
  changed(): void {
    this.#all = undefined;
  }

  async #read(): Promise<readonly FunctionTool[]> {
    const reading = this.#options.services.functions?.list() ?? Promise.resolve([]);
    const tools = reading.then(toolsOf);
    tools.catch(() => this.changed());
    return tools;
  }
}

function toolNamed(tools: readonly FunctionTool[], name: unknown): FunctionTool {
  const tool = tools.find((one) => one.name === name);
  if (tool) return tool;
  throw new Refusal(400, CODE.params, `there is no tool ${String(name).slice(0, 80)}`);
}

function found(tools: readonly FunctionTool[], { word = '' }: Members): CallResult {
  const wanted = String(word).toLowerCase();
  const fits = tools.filter(({ name, description }) => `${name} ${description}`.toLowerCase().includes(wanted));
  const functions = fits.slice(0, MOST_FOUND).map(({ name, description }) => ({ name, description }));
  return answered({ functions, more: fits.length - functions.length });
}

/** Content that an app makes in the protocol's own blocks is passed on; else what it says, or its result as JSON. */
function answered(result: Members): CallResult {
  const { content, say } = result;
  if (Array.isArray(content) && content.length > 0 && content.every(isBlock)) return { content };
  const text = typeof say === 'string' && say !== '' ? say : JSON.stringify(result);
  return { content: [{ type: 'text', text }], structuredContent: result };
}

function isBlock(block: unknown): block is object {
  const { type, text, data, mimeType, resource, uri } = Object(block) as Members;
  if (!BLOCKS.includes(String(type))) return false;
  if (type === 'text') return typeof text === 'string';
  if (type === 'resource') return isMembers(resource) && typeof resource.uri === 'string';
  if (type === 'resource_link') return typeof uri === 'string';
  return typeof data === 'string' && typeof mimeType === 'string';
}
