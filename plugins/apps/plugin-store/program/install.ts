import { resolve } from 'node:path';
import { defineProgram } from '@device-core/plugin-api/program';
import { CHANGE_TIMEOUT_MS } from './listing.ts';

interface Args {
  readonly source: string;
  readonly isolation?: string;
  readonly config?: Readonly<Record<string, unknown>>;
  readonly check?: boolean;
}

interface Outcome {
  readonly state: 'checked' | 'probation' | 'good';
  readonly id: string;
  readonly version: string;
  readonly former?: string;
  readonly hash: string;
  readonly isolation: string;
  readonly capabilities: readonly string[];
  readonly signer?: string;
}

/** `devicectl plugin install` */
export const program = defineProgram<Args>({
  params: {
    type: 'object',
    required: ['source'],
    properties: {
      source: { type: 'string', description: 'a folder or a .tgz, on the device' },
      isolation: { enum: ['inline', 'worker', 'process'], description: 'as before if absent, else process' },
      config: { type: 'object', description: 'settings; may be repeated' },
      check: { type: 'boolean', description: 'only tell what would be installed' },
    },
  },
  async run({ client, out, args }) {
    const body = { ...args, source: resolve(args.source) };
    const answer = await client.post('/plugins/install', body, { timeoutMs: CHANGE_TIMEOUT_MS });
    if (out.json) return out.line(answer.text);
    const outcome = answer.body as unknown as Outcome;
    const { id, version, former, state, hash, signer } = outcome;
    const instead = former === undefined || former === version ? '' : ` instead of ${former}`;
    const done = { checked: 'could be installed', probation: 'is active, on probation', good: 'was installed before' };
    await out.line(`${id} ${version} ${done[state]}${instead}`);
    await out.line(`runs     ${outcome.isolation}`);
    await out.line(`asks for ${outcome.capabilities.join(', ') || 'no capability'}`);
    await out.line(`files    ${hash}, ${signer ? `signed by ${signer}` : 'no trusted signature'}`);
  },
});
