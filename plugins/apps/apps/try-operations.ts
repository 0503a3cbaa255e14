import { type CallContext, CoreError, callerName, maybe } from '@device-core/plugin-api';
import { answersAbout, decide, itemOf, mergeAnswers } from '@device-core/plugin-api/inside/consent';
import { base64Schema, bytesOf, exactly } from '@device-core/plugin-api/operation-kit';
import type { AppStatus } from '@device-core/plugin-api/services/apps';
import type { Operation } from '@device-core/plugin-api/services/operations';
import type { AppContext } from './app-context.ts';
import type { Supervisor } from './supervisor.ts';
import type { TriedApps } from './tried-apps.ts';

const MOST_BYTES = 32 << 20;
const MOST_GRANTS = 64;
const CHANGE_MS = 160_000;

interface Wanted {
  readonly package: string;
  readonly grants?: readonly string[];
}

interface TryParts {
  readonly tried: TriedApps;
  readonly supervisor: Supervisor;
  readonly context: Pick<AppContext, 'consents' | 'device'>;
  /** The SKU's word: who may try apps on this device. */
  readonly developer: 'off' | 'operator';
}

/** apps.try and apps.forget. */
export function tryOperations({
  tried,
  supervisor,
  context,
  developer,
}: TryParts): readonly Operation<never, unknown>[] {
  const admit = (verb: string, { caller }: CallContext) => {
    const refuse = (reason: string) => new CoreError('CALLER_DENIED', { verb, reason });
    if (developer !== 'operator') throw refuse('this device takes apps from its store alone (apps.developer: off)');
    if (caller.kind !== 'operator') throw refuse(`${callerName(caller)} is not the operator`);
  };
  const attempt: Operation<Wanted, object> = {
    name: 'apps.try',
    sensitive: { act: 'run an app without a signature' },
    summary: 'Run an app as its author has just saved it',
    description:
      'A package without a signature. It runs over an installed app of the same id, in the same sandbox, and is gone when the Core starts again. Answers when it runs or failed to; `same` says that it is what runs already.',
    params: exactly(
      {
        package: base64Schema(MOST_BYTES, 'An .app file.'),
        grants: {
          type: 'array',
          maxItems: MOST_GRANTS,
          items: { type: 'string', maxLength: 128 },
          description: 'Capabilities that the operator grants it for as long as it is tried.',
        },
      },
      ['package'],
    ),
    result: {
      type: 'object',
      required: ['id', 'hash', 'same', 'state'],
      properties: {
        id: { type: 'string' },
        hash: { type: 'string', description: 'What its files hash to, the first twelve digits.' },
        same: { type: 'boolean' },
        state: { type: 'string' },
        reason: { type: 'string' },
      },
    },
    capability: 'system.apps',
    cli: { hide: true },
    rest: { method: 'POST', path: '/apps/try', bodyLimit: MOST_BYTES * 2 },
    errors: ['CALLER_DENIED', 'PACKAGE_INVALID', 'MANIFEST_INVALID', 'CAPABILITY_UNKNOWN', 'PARAMS_INVALID'],
    timeoutMs: CHANGE_MS,
    async about({ package: text, grants = [] }, call) {
      admit('try an app', call);
      const manifest = await tried.inspect(bytesOf(text, 'package'));
      const { id, title, version } = manifest;
      const given = answersAbout(manifest, grants, { allowed: true, by: callerName(call.caller), at: 0 });
      const { policy, consents } = context.consents.rulesFor(id);
      const rules = { policy, consents: mergeAnswers(consents, given), skuGrants: context.device.grants };
      const what = decide(manifest, rules).filter(({ verdict }) => verdict === 'granted');
      return { id, title, version, signer: null, what: what.map(itemOf) };
    },
    async run({ package: text, grants = [] }, call) {
      admit('try an app', call);
      const { id, hash, same } = await tried.take(bytesOf(text, 'package'), grants, callerName(call.caller));
      if (!same) {
        await supervisor.refresh();
        await supervisor.regrant(id);
        await tried.sweep(id);
      }
      const { state, reason } = await started(supervisor, id, same);
      return { id, hash, same, state, ...maybe({ reason }) };
    },
  };
  const forget: Operation<{ readonly id: string }, object> = {
    name: 'apps.forget',
    sensitive: { act: 'end the trial of the app {id}' },
    summary: 'End the trial of an app',
    description: 'What is installed under its id runs again.',
    params: exactly({
      id: { type: 'string', minLength: 1, maxLength: 128, description: 'App id, or its short name.' },
    }),
    result: { type: 'object', properties: { id: { type: 'string' } } },
    capability: 'system.apps',
    cli: { command: 'app forget' },
    rest: { method: 'POST', path: '/apps/:id/forget' },
    errors: ['CALLER_DENIED', 'APP_NOT_FOUND', 'MANIFEST_INVALID', 'CAPABILITY_UNKNOWN'],
    timeoutMs: CHANGE_MS,
    async run({ id: named }, call) {
      admit('end a trial', call);
      const id = tried.apps.some((app) => app.id === named) ? named : supervisor.find(named).manifest.id;
      await tried.forget(id);
      await supervisor.refresh();
      return { id };
    },
  };
  return [attempt, forget];
}

/** One that runs is left alone; one that was not told to start by itself is started by who tries it. */
async function started(supervisor: Supervisor, id: string, same: boolean): Promise<AppStatus> {
  const status = await supervisor.status(id);
  const idle = status.state === 'stopped' || (same && status.state !== 'running');
  return idle && status.version !== '' ? supervisor.start(id) : status;
}
