/** `devicectl update download|apply|install|rollback`: begins it, and with --wait stays until it has come to its end, over the restart. */

import { pause } from '@device-core/plugin-api/inside/program';
import {
  defineProgram,
  EXIT,
  Failure,
  type Program,
  type ProgramClient,
  type ProgramOutput,
} from '@device-core/plugin-api/program';
import { sent } from './sent.ts';

const LOOK_MS = 500;
/** The device restarts in between: so long nobody need answer. */
const SILENT_MS = 300_000;
const SILENCE = ['UNAVAILABLE', 'UNREACHABLE', 'METHOD_NOT_FOUND', 'UNAUTHENTICATED'];

interface Status {
  readonly state: string;
  readonly version?: string;
  readonly percent?: number;
  readonly reason?: string;
  readonly rule?: string;
  readonly since: number;
}

interface Args {
  readonly wait?: boolean;
  readonly [param: string]: unknown;
}

interface Kind {
  readonly path: string;
  readonly timeoutMs?: number;
  readonly params: Readonly<Record<string, object>>;
  readonly fixed?: readonly string[];
  /** States in which it is over, and those of them that are a success. */
  readonly ends: Readonly<Record<string, boolean>>;
}

const WAIT = { type: 'boolean', description: 'stay until it has come to its end, over the restart' };
const ANYWAY = { type: 'boolean', description: 'do not wait for what passes by itself' };
const ACCEPT = { type: 'string', description: 'digest of what it newly asks for, as update status tells it' };
const NEW = { good: true, 'rolled-back': false, failed: false, idle: false };

const order = ({ path, timeoutMs, params, fixed = [], ends }: Kind): Program<Args> =>
  defineProgram<Args>({
    params: { type: 'object', required: fixed, properties: { ...params, wait: WAIT } },
    cli: { fixed },
    async run(context) {
      const { client, out, signal } = context;
      const { wait, source, ...rest } = context.args;
      const body = typeof source === 'string' ? { ...rest, source: await sent(source, context) } : rest;
      const answer = await client.post(path, body, timeoutMs === undefined ? {} : { timeoutMs });
      const status = wait ? await end(client, out, ends, signal) : (answer.body as unknown as Status);
      if (out.json) await out.line(JSON.stringify(wait ? status : answer.body));
      else await out.line(lineOf(status, out));
      if (wait && ends[status.state] !== true) return EXIT.answered;
      return undefined;
    },
  });

function lineOf({ state, version = '', percent, reason }: Status, out: ProgramOutput): string {
  const far = percent === undefined ? '' : ` ${percent} %`;
  return `${out.state(state)}${far}${version === '' ? '' : ` ${version}`}${reason === undefined ? '' : `: ${reason}`}`;
}

async function end(
  client: ProgramClient,
  out: ProgramOutput,
  ends: Kind['ends'],
  signal: AbortSignal,
): Promise<Status> {
  let silent = 0;
  let told = '';
  for (;;) {
    signal.throwIfAborted();
    const status = await look(client).catch((error: unknown) => {
      silent += LOOK_MS;
      if (!(error instanceof Failure) || !SILENCE.includes(error.code) || silent > SILENT_MS) throw error;
      return undefined;
    });
    if (status) {
      silent = 0;
      if (ends[status.state] !== undefined) return status;
      const text = lineOf(status, out);
      if (text !== told && out.terminal && !out.json) await out.line(out.paint('dim', text));
      told = text;
    }
    await pause(LOOK_MS, signal);
  }
}

const look = async (client: ProgramClient): Promise<Status> => (await client.get('/update')).body as unknown as Status;

export const download: Program<Args> = order({
  path: '/update/download',
  params: { anyway: ANYWAY },
  ends: { staged: true, waiting: true, available: false, failed: false, idle: false },
});

export const apply: Program<Args> = order({
  path: '/update/apply',
  params: { accept: ACCEPT, anyway: ANYWAY },
  ends: NEW,
});

export const install: Program<Args> = order({
  path: '/update/install',
  timeoutMs: 200_000,
  params: {
    source: {
      type: 'string',
      description: 'an archive of an image, which is sent where the device is another machine; or a path on the device',
    },
    accept: ACCEPT,
    anyway: ANYWAY,
    downgrade: { type: 'boolean', description: 'take an older version, too; never below the floor' },
  },
  fixed: ['source'],
  ends: NEW,
});

export const rollback: Program<Args> = order({
  path: '/update/rollback',
  params: { reason: { type: 'string', description: 'why, for the history' } },
  ends: { 'rolled-back': true, failed: false },
});
