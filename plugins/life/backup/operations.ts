import { CoreError, type Logger, reasonOf } from '@device-core/plugin-api';
import { orderPending, pendingAct } from '@device-core/plugin-api/inside/pending-state';
import type { Machine } from '@device-core/plugin-api/inside/services/machine';
import type { SecretTransfer } from '@device-core/plugin-api/inside/services/secret-transfer';
import { exactly, STORAGE_ERRORS, textOf } from '@device-core/plugin-api/operation-kit';
import type { DeviceInfo } from '@device-core/plugin-api/services/device';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import { type Backups, PART_BYTES } from './backups.ts';
import { BACKUP_LIMITS, LONGEST } from './head.ts';
import { formsOf } from './places.ts';
import { layOut } from './restoring.ts';

export interface Parts {
  readonly device: DeviceInfo;
  readonly tree: string;
  readonly backups: Backups;
  readonly machine: () => Machine | undefined;
  readonly secrets: () => SecretTransfer | undefined;
  readonly log: Logger;
}

const TEXT: JsonSchema = { type: 'string' };
const ID: JsonSchema = { type: 'string', pattern: '^[0-9a-f-]{36}$' };
const PASSPHRASE: JsonSchema = { type: 'string', maxLength: 256, description: 'absent or empty: none' };
const COUNT: JsonSchema = { type: 'integer', minimum: 0 };
const SECRETS_LEFT = { ...TEXT, description: 'why the secrets of the backup are not put back' } as const;
const LONG_MS = 600_000;
const RESTARTS = {
  restarts: { type: 'boolean', description: 'false: it happens when somebody starts the Core again' },
  reason: { ...TEXT, description: 'why it does not restart by itself' },
} as const;

interface Given {
  readonly passphrase?: string;
}

export function backupOperations(parts: Parts): readonly Operation<never, unknown>[] {
  const { device, backups } = parts;
  const passphraseOf = ({ passphrase }: Given) => passphrase?.replace(/\r?\n$/, '') || undefined;
  /** The order is carried out at the next start. */
  const restart = async () => {
    const machine = parts.machine();
    if (!machine) return { restarts: false, reason: 'nobody here can restart the Core' };
    try {
      await machine.act('restart');
      return { restarts: true };
    } catch (error) {
      return { restarts: false, reason: reasonOf(error) };
    }
  };
  const reset: Operation<object, object> = {
    name: 'system.reset',
    sensitive: { act: 'reset the device: everything that people and apps left on it is removed' },
    summary: 'Throw the state of the device away',
    description:
      'Settings, apps that were installed, their data and every log go. Slots and the history of updates stay, and the apps of the image are as new. ' +
      'It is ordered first, and done at the next start before anything is open: a power cut does not undo it. ' +
      'What belongs to another user is moved to `<var>/remains`, and removed there with the help of the warden. Where that fails, the log and `/health` name it.',
    capability: 'system.power',
    params: exactly({}),
    result: exactly(RESTARTS, ['restarts']),
    rest: { method: 'POST', path: '/system/reset', status: 202 },
    // A program asks first.
    cli: { hide: true },
    errors: [...STORAGE_ERRORS, 'BUSY', 'TIMEOUT'],
    async run() {
      orderPending(device.paths.var, 'reset');
      return restart();
    },
  };
  const backup: Operation<Given, object> = {
    name: 'system.backup',
    sensitive: { act: 'copy everything that is kept on the device' },
    summary: 'Make a backup of the state of the device',
    description:
      'Settings, apps and their data as one file, to be fetched with `system.backupPart`. An app is stopped while its data are copied, and started again. ' +
      `An app with more than ${BACKUP_LIMITS.app.bytes >> 20} MiB or ${BACKUP_LIMITS.app.entries} files and folders is left out and named, and so is one that finds no room. ` +
      'It is a plain tar. With a passphrase it holds secrets, too, and is sealed as a file of age. ' +
      'Without one, files that may hold secrets are left out and named.',
    capability: 'system.backup',
    params: exactly({ passphrase: PASSPHRASE }, []),
    result: exactly({
      backup: ID,
      bytes: COUNT,
      files: COUNT,
      sha256: { ...TEXT, description: 'of all that stands before it' },
      left: {
        type: 'array',
        description: 'what is not in it; apps whose data are not in it come first',
        items: { type: 'object', required: ['path', 'reason'], properties: { path: TEXT, reason: TEXT } },
      },
    }),
    rest: { method: 'POST', path: '/system/backups', status: 201 },
    cli: { hide: true },
    errors: ['BUSY', 'BACKUP_INVALID', 'CANCELLED', 'TIMEOUT', ...STORAGE_ERRORS],
    timeoutMs: LONG_MS,
    run: (given, { signal }) => backups.make(passphraseOf(given), signal),
  };
  const part: Operation<{ readonly id: string; readonly offset: number }, object> = {
    name: 'system.backupPart',
    summary: 'Fetch a piece of a backup that was made just now',
    description: `At most ${PART_BYTES} bytes from the offset on.`,
    capability: 'system.backup',
    params: exactly({ id: ID, offset: { ...COUNT, default: 0 } }, ['id']),
    result: exactly({ bytes: { ...TEXT, contentEncoding: 'base64' }, end: { type: 'boolean' } }),
    rest: { method: 'GET', path: '/system/backups/:id' },
    cli: { hide: true },
    errors: ['BACKUP_INVALID', 'BUSY', 'TIMEOUT', ...STORAGE_ERRORS],
    async run({ id, offset }) {
      const { bytes, end } = await backups.part(id, offset);
      return { bytes: textOf(bytes), end };
    },
  };
  const upload: Operation<{ readonly file: string }, object> = {
    name: 'system.restoreUpload',
    summary: 'Hand over a backup from another machine',
    capability: 'system.backup',
    params: exactly({ file: { ...TEXT, description: 'where the body lies; made by the front end' } }),
    result: exactly({ upload: ID, bytes: COUNT }),
    rpc: false,
    rest: { method: 'POST', path: '/system/restore/uploads', raw: true, bodyLimit: LONGEST },
    cli: { hide: true },
    errors: [...STORAGE_ERRORS, 'BUSY', 'TIMEOUT'],
    timeoutMs: LONG_MS,
    run: ({ file }) => backups.take(file),
  };
  const restore: Operation<Given & { readonly upload: string }, object> = {
    name: 'system.restore',
    sensitive: { act: 'put a backup in the place of everything that is kept on the device' },
    summary: 'Put a backup in the place of the state of the device',
    description:
      'It is laid out beside the state and checked whole. Its secrets are sealed with the key of this device. A damaged one, one of another SKU or of a newer Core is refused, and nothing is touched. ' +
      'The next start exchanges the two before anything is open.',
    capability: 'system.backup',
    params: exactly({ upload: ID, passphrase: PASSPHRASE }, ['upload']),
    result: exactly({ files: COUNT, ...RESTARTS, secretsLeft: SECRETS_LEFT }, ['files', 'restarts']),
    rest: { method: 'POST', path: '/system/restore', status: 202 },
    cli: { hide: true },
    errors: ['BACKUP_INVALID', 'CANCELLED', 'BUSY', 'TIMEOUT', ...STORAGE_ERRORS],
    timeoutMs: LONG_MS,
    async run(given, { signal }) {
      if (pendingAct(device.paths.var) !== undefined)
        throw new CoreError('BACKUP_INVALID', {
          source: given.upload,
          reason: 'another reset or restore is ordered already: restart first',
        });
      const forms = await formsOf(parts.tree);
      const file = backups.fileOf(given.upload);
      const { secrets, log } = parts;
      const laid = await layOut(file, passphraseOf(given), { device, forms, signal, secrets });
      if (laid.secretsLeft !== undefined)
        log.warn({ reason: laid.secretsLeft }, 'the secrets of a backup are not put back');
      await backups.remove(given.upload);
      return { ...laid, ...(await restart()) };
    },
  };
  return [reset, backup, part, upload, restore] as unknown as readonly Operation<never, unknown>[];
}
