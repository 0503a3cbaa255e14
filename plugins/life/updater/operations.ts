/** update.status, check, download, install, apply, rollback, history, why, hold, resume, inhibit, release. */
import {
  type Caller,
  type Capabilities,
  CoreError,
  type CoreErrorCode,
  callerName,
  maybe,
} from '@device-core/plugin-api';
import { UPDATE_STATES } from '@device-core/plugin-api/inside/services/updates';
import { base64Schema, bytesOf, exactly, STATE_ERRORS } from '@device-core/plugin-api/operation-kit';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import { LONGEST_MS } from './leases.ts';
import { historyPage } from './page.ts';
import type { Parts } from './parts.ts';
import { STATUS_COLUMNS } from './status-columns.ts';
import type { Updater } from './updater.ts';
import { PIECE } from './uploads.ts';

const CAPABILITY = 'system.update';
const CHECK_MS = 180_000;
const TEXT: JsonSchema = { type: 'string' };
const TIME: JsonSchema = { type: 'integer', description: 'milliseconds since the Unix epoch' };
const STATE: JsonSchema = { enum: [...UPDATE_STATES] };
const SLOT: JsonSchema = { enum: ['a', 'b'] };
const VERSION: JsonSchema = { type: 'string', description: 'of the image' };
const RULE: JsonSchema = { type: 'string', description: 'name of the rule that says not now' };
const BYTES: JsonSchema = { type: 'integer', minimum: 0 };
const LEASE: JsonSchema = {
  type: 'object',
  required: ['id', 'holder', 'reason', 'until'],
  properties: { id: TEXT, holder: TEXT, reason: TEXT, until: TIME },
};
const HOLD: JsonSchema = {
  type: 'object',
  required: ['reason'],
  properties: { until: { ...TIME, description: 'absent: until update.resume' }, reason: TEXT },
};
const FORM: JsonSchema = {
  store: TEXT,
  from: { type: 'integer' },
  to: { type: 'integer' },
  way: { enum: ['both', 'one-way', 'lost'] },
};
const IMAGE: JsonSchema = {
  type: 'object',
  description: 'the image that it is about, as far as it is known',
  required: ['version', 'image', 'severity', 'source', 'kind', 'since', 'claims', 'forms', 'wayBack', 'restarts'],
  properties: {
    version: VERSION,
    image: { type: 'string', description: 'sha256:<hex> of its list' },
    severity: { enum: ['normal', 'security'] },
    notes: TEXT,
    source: TEXT,
    channel: TEXT,
    kind: { enum: ['repository', 'folder', 'archive'] },
    since: { ...TIME, description: 'when it was published, or first heard of; milliseconds since the Unix epoch' },
    bytes: { ...BYTES, description: 'that will really be fetched, at most' },
    restarts: { type: 'array', items: TEXT, description: 'the Core, and the apps that run' },
    claims: {
      type: 'array',
      description: 'what its plugins newly ask for',
      items: {
        type: 'object',
        required: ['plugin', 'capability', 'summary'],
        properties: { plugin: TEXT, capability: TEXT, summary: TEXT },
      },
    },
    forms: {
      type: 'array',
      description: 'stores whose form changes',
      items: { type: 'object', required: Object.keys(FORM), properties: FORM },
    },
    wayBack: { type: 'boolean', description: 'false: after it, what runs now cannot read all of the state' },
    digest: { type: 'string', description: 'value of `accept` for update.apply, where a consent is needed' },
    accepted: { type: 'boolean' },
  },
};
const STATUS: JsonSchema = {
  type: 'object',
  required: ['state', 'since', 'channel', 'automatic', 'leases'],
  properties: {
    state: STATE,
    since: TIME,
    version: VERSION,
    slot: SLOT,
    reason: TEXT,
    rule: RULE,
    from: { type: 'string', description: 'version that runs, or ran before' },
    percent: { type: 'number', minimum: 0, maximum: 100 },
    order: { enum: ['download', 'apply'], description: 'how far an operator ordered it to go' },
    update: IMAGE,
    running: {
      type: 'object',
      required: ['provider'],
      properties: { provider: TEXT, slot: SLOT, version: TEXT, other: TEXT },
      description: 'what runs, and what is in the other slot',
    },
    channel: TEXT,
    repository: TEXT,
    automatic: { enum: ['off', 'check', 'download', 'apply'] },
    retry: {
      type: 'object',
      required: ['failed', 'of', 'at', 'reason'],
      properties: { failed: BYTES, of: BYTES, at: TIME, reason: TEXT },
      description: 'a file that did not come: tries that failed, of how many, when the next is made, and why',
    },
    hold: HOLD,
    leases: { type: 'array', items: LEASE },
    checkedAt: TIME,
  },
};
const RESUMED: JsonSchema = {
  ...STATUS,
  properties: {
    ...Object(STATUS.properties),
    ended: { ...HOLD, description: 'the hold that it ended; absent: none was on' },
  },
};
const NEEDS: readonly CoreErrorCode[] = ['SLOTS_UNAVAILABLE', 'UPDATE_CONFLICT', 'UPDATE_REFUSED'];
const ACCEPT: JsonSchema = {
  type: 'string',
  pattern: '^[0-9a-f]{12}$',
  description: 'the digest of what it newly asks for: update.status tells it',
};
const ANYWAY: JsonSchema = {
  type: 'boolean',
  default: false,
  description: 'do not wait for what passes by itself: a metered network, the battery, a turn of speech, a lease',
};
const SOURCE: JsonSchema = {
  type: 'string',
  minLength: 2,
  maxLength: 4096,
  pattern: '^(/|upload:[0-9a-f-]{36}$)',
  description: 'absolute path of an image folder or its archive on the device, or what update.upload told',
};
const SHOWN = {
  columns: ['state', ['percent', '{percent}'], 'version', ['INSTEAD OF', '{from}'], 'slot', 'reason', 'rule'] as const,
};

type Row = Operation<never, unknown>;

/** `whole` is what goes on with an update: it is loaded by the first call that needs it. */
export function updateOperations(
  { leases, history, journal, clock }: Parts,
  whole: () => Promise<Updater>,
  capabilities: Capabilities,
): readonly Row[] {
  const view = async (): Promise<unknown> => (await import('./status.ts')).statusOf(await whole());
  const nothing = exactly({});

  const status: Row = {
    name: 'update.status',
    summary: 'state of an update, its changes, and the running version',
    params: nothing,
    result: STATUS,
    capability: CAPABILITY,
    cli: { aliases: ['update'], columns: STATUS_COLUMNS, hide: ['leases'] },
    rest: { method: 'GET', path: '/update' },
    errors: [],
    run: view,
  };
  const check: Operation<{ readonly channel?: string }, unknown> = {
    name: 'update.check',
    summary: 'look for an update in the repository',
    description: 'Answers when it has looked. Where that fails, what was known of an update stays.',
    params: {
      type: 'object',
      additionalProperties: false,
      properties: {
        channel: { type: 'string', pattern: '^[a-z0-9][a-z0-9-]{0,39}$', description: 'another one, this once' },
      },
    },
    result: STATUS,
    capability: CAPABILITY,
    cli: { progress: 'looking', ...SHOWN },
    rest: { method: 'POST', path: '/update/check' },
    errors: [
      ...NEEDS,
      'REPOSITORY_UNTRUSTED',
      'REPOSITORY_FAILED',
      'SYSTEM_IMAGE_INVALID',
      'SIGNATURE_INVALID',
      ...STATE_ERRORS,
    ],
    timeoutMs: CHECK_MS,
    async run({ channel }, call) {
      await (await whole()).check(call, channel);
      return view();
    },
  };
  const download: Operation<{ readonly anyway: boolean }, unknown> = {
    name: 'update.download',
    summary: 'fetch the update that was found, and put it into the other slot',
    description: 'Answers when it has begun; nothing is restarted. Event update.state tells how far it is.',
    params: { type: 'object', additionalProperties: false, properties: { anyway: ANYWAY } },
    result: STATUS,
    capability: CAPABILITY,
    cli: { hide: true },
    rest: { method: 'POST', path: '/update/download', status: 202 },
    errors: NEEDS,
    async run({ anyway }, { caller }) {
      await (await whole()).order('download', { anyway }, callerName(caller));
      return view();
    },
  };
  const install: Operation<Installing, unknown> = {
    name: 'update.install',
    sensitive: { act: 'install the system image {source}' },
    summary: 'install an image from a folder or an archive of the device',
    description:
      'Its signature, SKU, platform and version are looked at before the answer; the rest goes on, with a restart and a probation. Neither a channel nor a repository is asked.',
    params: {
      type: 'object',
      additionalProperties: false,
      required: ['source'],
      properties: {
        source: SOURCE,
        accept: ACCEPT,
        anyway: ANYWAY,
        downgrade: {
          type: 'boolean',
          default: false,
          description: 'take an older version, too; never below the floor',
        },
      },
    },
    result: STATUS,
    capability: CAPABILITY,
    cli: { hide: true },
    rest: { method: 'POST', path: '/update/install', status: 202 },
    errors: [...NEEDS, 'SYSTEM_IMAGE_INVALID', 'SIGNATURE_INVALID', ...STATE_ERRORS],
    timeoutMs: CHECK_MS,
    async run({ source, ...ordered }, { caller }) {
      await (await whole()).install(source, ordered, callerName(caller));
      return view();
    },
  };
  const upload: Operation<Uploading, unknown> = {
    name: 'update.upload',
    summary: 'Hand over a piece of an archive from another machine',
    description:
      `At most ${PIECE} bytes, at the offset where the former piece ended; the same piece may come again after a cut. ` +
      'Without `upload` a new archive begins. What it tells as `source` can be installed. Of three that wait the oldest goes; a restart of the Core forgets all archives that were not installed.',
    params: exactly(
      {
        upload: { type: 'string', pattern: '^[0-9a-f-]{36}$', description: 'as the first piece was told' },
        offset: { ...BYTES, default: 0 },
        data: base64Schema(PIECE),
      },
      ['data'],
    ),
    result: exactly({ upload: TEXT, source: TEXT, bytes: { ...BYTES, description: 'that are there now' } }),
    capability: CAPABILITY,
    cli: { hide: true },
    rest: { method: 'POST', path: '/update/uploads', status: 201 },
    errors: ['SLOTS_UNAVAILABLE', 'SYSTEM_IMAGE_INVALID', ...STATE_ERRORS],
    async run({ upload, offset, data }) {
      const bytes = bytesOf(data, 'data');
      const updater = await whole();
      // Nobody waits for a long archive that nothing can take.
      if (upload === undefined && (await updater.facts.slots()).provider === 'none')
        throw new CoreError('SLOTS_UNAVAILABLE', { verb: 'take an image', reason: 'this device has no slots' });
      return updater.uploads.take({ upload, offset, bytes });
    },
  };
  const apply: Operation<Applying, unknown> = {
    name: 'update.apply',
    sensitive: { act: 'install the update and restart' },
    summary:
      'install the update that was found: fetch it where it is not there yet, restart into it, and see whether it is good',
    description:
      'Answers when it has begun, or waits for something that passes by itself: `state` is `waiting` then, with the rule. What does not pass is UPDATE_REFUSED.',
    params: { type: 'object', additionalProperties: false, properties: { accept: ACCEPT, anyway: ANYWAY } },
    result: STATUS,
    capability: CAPABILITY,
    cli: { hide: true },
    rest: { method: 'POST', path: '/update/apply', status: 202 },
    errors: NEEDS,
    async run(ordered, { caller }) {
      await (await whole()).order('apply', ordered, callerName(caller));
      return view();
    },
  };
  const rollback: Operation<{ readonly reason: string }, unknown> = {
    name: 'update.rollback',
    sensitive: { act: 'go back to the former system image and restart' },
    summary: 'go back to what ran before, in the other slot',
    params: {
      type: 'object',
      additionalProperties: false,
      properties: { reason: { type: 'string', minLength: 1, maxLength: 200, default: 'by hand' } },
    },
    result: STATUS,
    capability: CAPABILITY,
    cli: { hide: true },
    rest: { method: 'POST', path: '/update/rollback', status: 202 },
    errors: ['SLOTS_UNAVAILABLE', 'UPDATE_CONFLICT'],
    async run({ reason }, { caller }) {
      await (await whole()).rollback(reason, callerName(caller));
      return view();
    },
  };
  const past: Operation<{ readonly limit: number }, unknown> = {
    name: 'update.history',
    summary: 'every step of every update, the newest first',
    params: {
      type: 'object',
      additionalProperties: false,
      properties: { limit: { type: 'integer', minimum: 1, maximum: 1000, default: 50 } },
    },
    result: {
      type: 'object',
      required: ['history'],
      properties: {
        history: {
          type: 'array',
          items: {
            type: 'object',
            required: ['at', 'state'],
            properties: {
              at: TIME,
              state: TEXT,
              version: TEXT,
              image: TEXT,
              from: TEXT,
              slot: TEXT,
              reason: TEXT,
              by: { type: 'string', description: 'role of the requester; absent: none' },
            },
          },
        },
      },
    },
    capability: CAPABILITY,
    cli: {
      columns: [['AT', '{at:when}'], 'state', 'version', ['INSTEAD OF', '{from}'], 'slot', 'by', 'reason'],
      empty: 'there was no update yet',
    },
    page: historyPage,
    rest: { method: 'GET', path: '/update/history' },
    errors: [],
    run: async ({ limit }) => ({ history: await history.last(limit) }),
  };
  const why: Row = {
    name: 'update.why',
    summary: 'the first rule that says no to the next step of an update, and what to do',
    params: nothing,
    result: {
      type: 'object',
      required: ['state', 'next', 'allowed'],
      properties: {
        state: STATE,
        next: { enum: ['check', 'download', 'activate'], description: 'what is to be done next' },
        allowed: { type: 'boolean' },
        rule: { type: 'string', description: 'its name; the guide to updates has them all' },
        reason: { type: 'string', description: 'why not, or why it is where it is' },
        sentence: { type: 'string', description: 'what the rule is about' },
        todo: { type: 'string', description: 'what an operator can do' },
      },
    },
    capability: CAPABILITY,
    cli: { columns: ['state', 'next', 'allowed', 'rule', 'reason', ['means', '{sentence}'], ['what to do', '{todo}']] },
    rest: { method: 'GET', path: '/update/why' },
    errors: [],
    async run() {
      const { act, no } = await (await whole()).why();
      const { state, reason } = journal.record;
      const told = no?.reason ?? reason;
      return {
        state,
        next: act,
        allowed: no === undefined,
        ...maybe({ reason: told }),
        ...(no && { rule: no.rule.name, sentence: no.rule.sentence, todo: no.rule.todo }),
      };
    },
  };
  const hold: Operation<{ readonly hours?: number; readonly reason: string; readonly discard: boolean }, unknown> = {
    name: 'update.hold',
    sensitive: { act: 'hold updates back[ for {hours} hours][, discard what was found: {discard}]' },
    summary: 'stop what is under way, and do nothing by itself for a while',
    description:
      'What was fetched stays, unless it is discarded. Once the restart is under way it is too late for that.',
    params: {
      type: 'object',
      additionalProperties: false,
      properties: {
        hours: { type: 'number', exclusiveMinimum: 0, maximum: 8760, description: 'absent: until update.resume' },
        reason: { type: 'string', minLength: 1, maxLength: 200, default: 'by hand' },
        discard: { type: 'boolean', default: false, description: 'the image is not wanted any more' },
      },
    },
    result: STATUS,
    capability: CAPABILITY,
    cli: {
      done: [
        'updates are held until {hold.until:date}: {hold.reason}',
        'updates are held until `devicectl update resume`: {hold.reason}',
      ],
    },
    rest: { method: 'POST', path: '/update/hold' },
    errors: ['UPDATE_CONFLICT'],
    async run({ hours, reason, discard }) {
      const until = hours === undefined ? {} : { until: Math.round(clock.now() + hours * 3_600_000) };
      await (await whole()).hold({ reason, ...until }, discard);
      return view();
    },
  };
  const resume: Row = {
    name: 'update.resume',
    summary: 'end a hold',
    params: nothing,
    result: RESUMED,
    capability: CAPABILITY,
    cli: { done: ['updates go on; the hold was: {ended.reason}', 'no hold was on'] },
    rest: { method: 'DELETE', path: '/update/hold' },
    errors: [],
    async run() {
      const ended = await (await whole()).resumed();
      return { ...Object(await view()), ...maybe({ ended }) };
    },
  };
  const inhibit: Operation<{ readonly reason: string; readonly ms: number }, unknown> = {
    name: 'update.inhibit',
    summary: 'hold an update back for a while, because something must not be cut off',
    description:
      'Nothing is restarted for an update meanwhile. It ends with the app, and after 24 hours at the latest.',
    params: exactly({
      reason: { type: 'string', minLength: 1, maxLength: 200, description: 'shown to the operator' },
      ms: { type: 'integer', minimum: 1000, maximum: LONGEST_MS },
    }),
    result: LEASE,
    capability: 'updates.inhibit',
    cli: { done: 'lease {id} holds updates back until {until:time}' },
    rest: { method: 'POST', path: '/update/inhibit' },
    errors: ['BUSY', 'UPDATE_REFUSED'],
    run: async ({ reason, ms }, { caller }) => leases.take(callerName(caller), reason, ms),
  };
  const release: Operation<{ readonly id: string }, unknown> = {
    name: 'update.release',
    summary: 'end a lease; an operator may end that of another',
    params: exactly({ id: { type: 'string', pattern: '^[0-9]{1,9}$' } }),
    result: { type: 'object', required: ['released'], properties: { released: { type: 'boolean' } } },
    capability: 'updates.inhibit',
    cli: { done: 'lease {id} is over' },
    rest: { method: 'DELETE', path: '/update/inhibit/:id' },
    errors: ['CALLER_DENIED'],
    async run({ id }, { caller }) {
      const lease = leases.get(id);
      if (lease && !mayRelease(lease.holder, caller, capabilities))
        throw new CoreError('CALLER_DENIED', { verb: 'end the lease', reason: `it is of ${lease.holder}` });
      const released = leases.release(id);
      if (released) void (await whole()).wake();
      return { released };
    },
  };
  return [status, check, download, upload, install, apply, rollback, past, why, hold, resume, inhibit, release];
}

interface Applying {
  readonly accept?: string;
  readonly anyway: boolean;
}

interface Uploading {
  readonly upload?: string;
  readonly offset: number;
  readonly data: string;
}

interface Installing extends Applying {
  readonly source: string;
  readonly downgrade: boolean;
}

const mayRelease = (holder: string, caller: Caller, capabilities: Capabilities): boolean =>
  holder === callerName(caller) || capabilities.holds(caller, CAPABILITY);
