/** The rows of the table of operations that belong to the sockets themselves: where they are, and streams. */
import { type CallContext, CoreError } from '@device-core/plugin-api';
import type { AppNames } from '@device-core/plugin-api/operation-kit';
import type { Operation } from '@device-core/plugin-api/services/operations';
import type { AppSocketDirectory } from './app-socket-directory.ts';
import type { OpenParams, OpenResult, SessionStreams } from './session-streams.ts';

const STREAM_ID = { type: 'string', minLength: 1, maxLength: 64 };
const BYTES = { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER };
const NOTHING = { type: 'object', properties: {} };

export function ownOperations(directory: AppSocketDirectory, names: AppNames): readonly Operation<never, unknown>[] {
  const streamsOf = (operation: string, { session }: CallContext): SessionStreams => {
    const found = session && directory.session(session.id);
    if (found) return found.streams;
    throw new CoreError('SESSION_REQUIRED', { operation, hint: 'call it on the socket of an app' });
  };
  const socket: Operation<{ app?: string }, { socket: string }> = {
    name: 'apps.socket',
    summary: "Path of the caller's JSON-RPC socket",
    params: {
      type: 'object',
      properties: { app: { description: 'For the operator: its id or its name.', type: 'string' } },
    },
    result: { type: 'object', required: ['socket'], properties: { socket: { type: 'string' } } },
    access: 'An app gets its own; everybody else names an app.',
    rest: { method: 'GET', path: '/getDeviceSocketPath', bare: true },
    errors: ['CALLER_DENIED', 'APP_NOT_FOUND'],
    async run({ app }, { caller }) {
      const id = app === undefined ? undefined : await names.idOf(app);
      return { socket: await directory.path(whose(id, caller)) };
    },
  };
  const open: Operation<OpenParams, OpenResult> = {
    name: 'stream.open',
    summary: 'Opens a stream of bytes to a plugin',
    description:
      'After the answer the Core sends stream.data {id, seq, data, more?}, stream.credit {id, bytes} and stream.end {id, error?}.',
    params: {
      type: 'object',
      required: ['stream'],
      properties: {
        stream: { type: 'string', maxLength: 128 },
        params: { description: 'What the stream asks for', type: 'object' },
        binary: { description: 'Data comes as attachments, not as base64', type: 'boolean', default: false },
        credit: {
          description: 'Bytes that the app takes at first',
          type: 'integer',
          minimum: 0,
          maximum: BYTES.maximum,
        },
      },
    },
    result: { type: 'object', required: ['id', 'credit'], properties: { id: STREAM_ID, credit: BYTES } },
    access: 'Apps only, on their own socket.',
    errors: ['SESSION_REQUIRED', 'STREAM_NOT_FOUND', 'STREAM_LIMIT', 'CAPABILITY_DENIED'],
    async run(params, call) {
      const streams = streamsOf('stream.open', call);
      const opened = await streams.open(params);
      if (call.signal.aborted) streams.abandon(opened.id);
      return opened;
    },
  };
  const write: Operation<{ id: string; data?: string }, object> = {
    name: 'stream.write',
    summary: 'Writes to a stream: base64 in data, or an attachment',
    params: {
      type: 'object',
      required: ['id'],
      properties: { id: STREAM_ID, data: { description: 'Base64', type: 'string' } },
    },
    result: NOTHING,
    access: 'Apps only, on their own socket.',
    errors: ['SESSION_REQUIRED', 'STREAM_NOT_FOUND', 'STREAM_OVERRUN'],
    run: async (params, call) => streamsOf('stream.write', call).write(params, undefined),
  };
  const credit: Operation<{ id: string; bytes: number }, object> = {
    name: 'stream.credit',
    summary: 'Lets the Core send more on a stream',
    params: { type: 'object', required: ['id', 'bytes'], properties: { id: STREAM_ID, bytes: BYTES } },
    result: NOTHING,
    access: 'Apps only, on their own socket.',
    errors: ['SESSION_REQUIRED', 'STREAM_NOT_FOUND'],
    run: async (params, call) => streamsOf('stream.credit', call).credit(params),
  };
  const close: Operation<{ id: string }, object> = {
    name: 'stream.close',
    summary: 'Ends what the app writes to a stream; stream.end follows when the plugin is done',
    params: { type: 'object', required: ['id'], properties: { id: STREAM_ID } },
    result: NOTHING,
    access: 'Apps only, on their own socket.',
    errors: ['SESSION_REQUIRED', 'STREAM_NOT_FOUND'],
    async run({ id }, call) {
      streamsOf('stream.close', call).close(id);
      return {};
    },
  };
  return [socket, open, write, credit, close] as readonly Operation<never, unknown>[];
}

/** An app has one socket, its own; whoever administers the device may ask for any. */
function whose(app: string | undefined, caller: CallContext['caller']): string {
  const denied = (reason: string) => new CoreError('CALLER_DENIED', { verb: 'tell a socket path', reason });
  if (caller.kind === 'app') {
    if (app === undefined || app === caller.id) return caller.id;
    throw denied(`${app} is another app`);
  }
  if (app === undefined)
    throw denied(`only an app has such a socket; name one with app, as in ?app=com.example.agenda`);
  return app;
}
