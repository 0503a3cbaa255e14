/** A device that makes backups and takes them, with nothing but the state that a test lays. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { machine } from '@device-core/plugin-api/inside/services/machine';
import { type SecretTransfer, secretTransfer } from '@device-core/plugin-api/inside/services/secret-transfer';
import { type Apps, apps } from '@device-core/plugin-api/services/apps';
import { type Device, device } from '@device-core/plugin-api/services/device';
import { operations } from '@device-core/plugin-api/services/operations';
import { createTestHost, given, TestOperations } from '@device-core/plugin-api/testing';
import { Decrypter } from 'age-encryption';
import { plugin } from '../../../plugins/life/backup/index.ts';

const manifest = join(import.meta.dirname, '../../../manifests/plugins/life/backup.yaml');

/** Called instead of the service `apps`, where there is one. */
type Borrow = Apps['borrow'];

interface Beside {
  readonly transfer: SecretTransfer;
  /** Of the device whose secrets they are. */
  readonly root: string;
}

export async function start(sku = 'test', borrow?: Borrow, { transfer, root: place }: Partial<Beside> = {}) {
  const root = place ?? mkdtempSync(join(tmpdir(), 'bk-'));
  const paths = { etc: join(root, 'etc'), var: join(root, 'var'), run: join(root, 'run') };
  for (const path of Object.values(paths)) mkdirSync(path, { recursive: true });
  const info = {
    service: 'device',
    sku: { id: sku, title: 'Test', simulated: true },
    core: { version: '1.0.0', api: '1.0.0' },
    auth: 'token' as const,
    paths,
    startedAt: 0,
    grants: {},
  };
  const acts: string[] = [];
  const table = new TestOperations();
  const host = await createTestHost(plugin, {
    manifest,
    services: [
      [operations, table],
      [device, { info: async () => info } satisfies Device],
      ...(borrow ? [given(apps, { borrow })] : []),
      ...(transfer ? [given(secretTransfer, transfer)] : []),
      [machine, { able: async () => ({ acts: ['restart'] }), act: async (act: string) => void acts.push(act) }],
    ],
  });
  return {
    host,
    table,
    acts,
    state: paths.var,
    root,
    async fetch(params: object) {
      const made = await table.run<{ backup: string; left: { path: string }[]; bytes: number }>(
        'system.backup',
        params,
      );
      const parts: Buffer[] = [];
      for (let end = false, offset = 0; !end; ) {
        const part = await table.run<{ bytes: string; end: boolean }>('system.backupPart', { id: made.backup, offset });
        parts.push(Buffer.from(part.bytes, 'base64'));
        offset += parts.at(-1)!.length;
        end = part.end;
      }
      const bytes = Buffer.concat(parts);
      assert.equal(bytes.length, made.bytes);
      return { ...made, archive: bytes };
    },
    async restore(archive: Uint8Array, params: object = {}) {
      const file = join(root, 'body');
      writeFileSync(file, archive);
      const { upload } = await table.run<{ upload: string }>('system.restoreUpload', { file });
      return table.run('system.restore', { upload, ...params });
    },
    async [Symbol.asyncDispose]() {
      await host.stop();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** What a sealed backup holds. */
export async function opened(archive: Uint8Array, passphrase: string): Promise<Buffer> {
  const decrypter = new Decrypter();
  decrypter.addPassphrase(passphrase);
  return Buffer.from(await decrypter.decrypt(archive));
}
