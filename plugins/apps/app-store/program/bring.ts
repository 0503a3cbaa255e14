/** `app install` and `app update`: begins the change, and waits for its end. */
import { stat } from 'node:fs/promises';
import { namedPackage } from '@device-core/plugin-api/inside/packages';
import {
  answerHere,
  fetchPackage,
  isAnswerable,
  openPrompts,
  promptLines,
  whenChanged,
} from '@device-core/plugin-api/inside/program';
import type { ChangeInfo } from '@device-core/plugin-api/inside/services/changes';
import {
  cell,
  defineProgram,
  type Program,
  type ProgramClient,
  type ProgramOutput,
  usage,
} from '@device-core/plugin-api/program';

/** A large package is unpacked and read before the answer. */
const TIMEOUT_MS = 130_000;
const INSTALL = '/apps/install';

export interface Bringing {
  readonly source: string;
  readonly anyway?: boolean;
  readonly id?: string;
  readonly check?: boolean;
  readonly downgrade?: boolean;
  readonly discardData?: boolean;
  readonly grants?: readonly string[];
  readonly noWait?: boolean;
  readonly yes?: boolean;
}

const FLAGS = {
  downgrade: { type: 'boolean', description: 'take an older version, too' },
  discardData: { type: 'boolean', description: 'begin without data where it does not know their form' },
  grants: {
    type: 'array',
    items: { type: 'string' },
    description:
      'allow a capability in the same breath; may be repeated; what is optional and not among them is then denied',
  },
  anyway: { type: 'boolean', description: 'fetch it also on a network that costs money' },
  yes: { type: 'boolean', description: 'allow what it requires, without a question; what is optional stays off' },
  noWait: { type: 'boolean', description: 'print the change that was begun, and do not wait for its end' },
} as const;
const SOURCE = { type: 'string', description: 'an .app file; or an id, or <id>@<version>, of the repository' } as const;

export const install: Program<Bringing> = defineProgram<Bringing>({
  params: {
    type: 'object',
    required: ['source'],
    properties: {
      source: SOURCE,
      check: { type: 'boolean', description: 'only tell what would be installed' },
      ...FLAGS,
    },
  },
  cli: { fixed: ['source'], flags: { grants: ['grant'] } },
  run: ({ client, out, args, signal }) => bring(client, out, args, INSTALL, signal),
});

export const update: Program<Bringing> = defineProgram<Bringing>({
  params: {
    type: 'object',
    required: ['id', 'source'],
    properties: { id: { type: 'string', description: 'of the app, or its short name' }, source: SOURCE, ...FLAGS },
  },
  cli: { fixed: ['id', 'source'], flags: { grants: ['grant'] } },
  run: ({ client, out, args, signal }) =>
    bring(client, out, args, `/apps/${encodeURIComponent(String(args.id))}/update`, signal),
});

async function bring(
  client: ProgramClient,
  out: ProgramOutput,
  { noWait, id: _, source, anyway, yes = false, ...rest }: Bringing,
  path: string,
  signal: AbortSignal,
): Promise<void> {
  if (yes && noWait)
    throw usage(
      '--yes answers a question that comes later, and --no-wait does not wait for it',
      'leave one of them out',
    );
  const progress = (text: string) => void (out.terminal && !out.json && out.line(out.paint('dim', text)));
  const named = await namedPackage('app', source);
  const fetched = async (wanted: Parameters<typeof fetchPackage>[2]) => {
    const {
      source: file,
      id,
      version,
    } = await fetchPackage(client, 'app', { ...wanted, anyway }, { signal, progress });
    return { source: file, version, ...(path === INSTALL && { id }) };
  };
  const place = named.kind === 'path' ? { source: await sent(client, named.path) } : await fetched(named);
  const body = { ...rest, ...place };
  const begun = await client.post(path, body, { timeoutMs: TIMEOUT_MS });
  const answer = noWait
    ? begun
    : await whenChanged(client, begun, { signal, progress, looked: questions({ client, out, signal, yes }) });
  if (out.json) return out.line(answer.text);
  if (noWait && answer.status === 202) return out.line(`change ${String(answer.body.change)} has begun`);
  const { id, version, former, state, signer, signedBy, capabilities } = answer.body;
  const instead = former === undefined || former === version ? '' : ` instead of ${String(former)}`;
  await out.line(
    `${String(id)} ${String(version)} ${state === 'checked' ? 'could be installed' : 'is installed'}${instead}`,
  );
  await out.line(`asks for ${(capabilities as string[]).join(', ') || 'no capability'}`);
  await out.line(
    `files    ${String(answer.body.hash)}, ${signer ? `signed by ${cell(signedBy ?? signer)}` : 'no trusted signature'}`,
  );
}

/** The device may be another machine, and its Core may not read what is this user's. */
async function sent(client: ProgramClient, file: string): Promise<string> {
  if (!(await stat(file).catch(() => undefined))?.isFile())
    throw usage(`${file} is no file`, 'an app of the repository is named by its id: com.example.agenda');
  return String((await client.upload('/apps/uploads', file, { timeoutMs: TIMEOUT_MS })).body.source);
}

interface Asking {
  readonly client: ProgramClient;
  readonly out: ProgramOutput;
  readonly signal: AbortSignal;
  /** The command line says yes to what is required. */
  readonly yes: boolean;
}

/**
 * The person who waits is shown what the app asks for, once, and is asked in this place where that is possible; else
 * how to answer. The device goes on when the question was answered elsewhere.
 */
function questions({ client, out, signal, yes }: Asking) {
  let shown = false;
  let failed: { readonly thrown: unknown } | undefined;
  const over = new AbortController();
  return async ({ steps, subject }: ChangeInfo): Promise<void> => {
    if (failed) throw failed.thrown;
    if (!steps.some(({ name, state }) => name === 'consent' && state === 'doing')) {
      if (shown) over.abort();
      return;
    }
    if (shown || (out.json && !yes)) return;
    const mine = (await openPrompts(client)).find((prompt) => `app ${prompt.subject}` === subject);
    if (!mine) return;
    shown = true;
    if (!out.json) for (const line of promptLines(mine, Date.now())) await out.line(line);
    if (!yes && !isAnswerable(out)) return;
    // Not awaited: the panel and the page may be faster.
    answerHere(mine, { client, signal: AbortSignal.any([signal, over.signal]), ...(yes && { yes }) }).catch(
      (thrown: unknown) => {
        failed = { thrown };
      },
    );
  };
}
