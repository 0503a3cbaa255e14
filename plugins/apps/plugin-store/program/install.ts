import { namedPackage } from '@device-core/plugin-api/inside/packages';
import { fetchPackage, isAnswerable, whenChanged } from '@device-core/plugin-api/inside/program';
import { defineProgram } from '@device-core/plugin-api/program';
import { ask, unaccepted } from './claims.ts';
import { CHANGE_TIMEOUT_MS } from './listing.ts';

interface Args {
  readonly source: string;
  readonly isolation?: string;
  readonly config?: Readonly<Record<string, unknown>>;
  readonly check?: boolean;
  readonly accept?: string;
  readonly yes?: boolean;
  readonly noWait?: boolean;
  readonly anyway?: boolean;
}

interface Outcome {
  readonly state: 'checked' | 'probation' | 'good';
  readonly id: string;
  readonly version: string;
  readonly former?: string;
  readonly hash: string;
  readonly isolation: string;
  readonly claims: {
    readonly capabilities: readonly string[];
    readonly files: { readonly read: readonly string[]; readonly write: readonly string[] };
    readonly services: readonly string[];
    readonly taps: readonly string[];
  };
  readonly added: readonly string[];
  readonly digest: string;
  readonly signer?: string;
}

/** `devicectl plugin install` */
export const program = defineProgram<Args>({
  params: {
    type: 'object',
    required: ['source'],
    properties: {
      source: {
        type: 'string',
        description: 'a folder or a .tgz, on the device; or an id, or <id>@<version>, of the repository',
      },
      isolation: { enum: ['inline', 'worker', 'process'], description: 'as before if absent, else process' },
      config: { type: 'object', description: 'settings; may be repeated' },
      check: { type: 'boolean', description: 'only tell what would be installed' },
      anyway: { type: 'boolean', description: 'fetch it also on a network that costs money' },
      noWait: { type: 'boolean', description: 'print the change that was begun, and do not wait for its end' },
      yes: { type: 'boolean', description: 'grant what it claims, without a question' },
      accept: { type: 'string', description: 'grant what it claims, if that is what this digest names' },
    },
  },
  async run({ client, out, args, signal }) {
    const { yes, noWait, anyway, ...rest } = args;
    const named = await namedPackage('plugin', args.source);
    const body =
      named.kind === 'repository'
        ? { ...rest, ...(await fetchPackage(client, 'plugin', { ...named, anyway }, { signal })) }
        : { ...rest, source: named.path };
    const install = (more: object, accept: readonly number[]) =>
      client.post('/plugins/install', { ...body, ...more }, { timeoutMs: CHANGE_TIMEOUT_MS, accept });
    // A digest is the whole answer: another package is refused, and asked for no more.
    const answerable = args.accept === undefined && (yes === true || isAnswerable(out));
    let answer = await install({}, answerable ? [409] : []);
    const claims = unaccepted(answer);
    if (claims && !yes) await ask(out, claims, signal);
    if (answer.status >= 400) answer = await install(claims ? { accept: claims.digest } : {}, []);
    if (!noWait) answer = await whenChanged(client, answer, { signal });
    if (out.json) return out.line(answer.text);
    if (noWait && answer.status === 202) return out.line(`change ${String(answer.body.change)} has begun`);
    const outcome = answer.body as unknown as Outcome;
    const { id, version, former, state, hash, signer } = outcome;
    const instead = former === undefined || former === version ? '' : ` instead of ${former}`;
    const done = { checked: 'could be installed', probation: 'is active, on probation', good: 'was installed before' };
    await out.line(`${id} ${version} ${done[state]}${instead}`);
    await out.line(`runs     ${outcome.isolation}`);
    for (const line of granted(outcome)) await out.line(line);
    await out.line(`files    ${hash}, ${signer ? `signed by ${signer}` : 'no trusted signature'}`);
    if (state !== 'checked' || outcome.added.length === 0) return;
    for (const claim of outcome.added) await out.line(`it ${claim}`);
    await out.line(`accept   ${outcome.digest}`);
  },
});

/** Rights beyond running by itself. */
function granted({ claims: { capabilities, files, services, taps } }: Outcome): readonly string[] {
  const list = (name: string, items: readonly string[]) => (items.length > 0 ? [`${name} ${items.join(', ')}`] : []);
  return [
    `asks for ${capabilities.join(', ') || 'no capability'}`,
    ...list('reads   ', files.read),
    ...list('writes  ', files.write),
    ...list('uses    ', [...services, ...taps]),
  ];
}
