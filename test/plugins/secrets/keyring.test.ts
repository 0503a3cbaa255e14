/** What the keyring adds to the contract of secrets: its keys, where the kernel denies it, and which of the two keyrings may be used. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { leakCheck } from '@device-core/plugin-api/testing';
import { makeSecrets } from '../../../plugins/state/secrets/index.ts';
import { KeyringError, openKeyring } from '../../../plugins/state/secrets/keyring/keyring.ts';
import { type KeyringRules, KeyringVault } from '../../../plugins/state/secrets/keyring/keyring-vault.ts';
import type { SecretKey } from '../../../plugins/state/secrets/names.ts';
import { type SecretsUnderTest, secretsContract } from '../../contracts/secrets.ts';
import { secretsOfAppsContract } from '../../contracts/secrets-of-apps.ts';
import { emptyKeyring, noKeyring } from '../../fixtures/keyring.ts';
import { healthOf, manifest, startSecrets, TEXT } from '../../fixtures/secrets-device.ts';

after(leakCheck());

const key: SecretKey = 'shared/cloud.token';
const exit: KeyringRules = { until: 'exit', alone: false, now: () => 7 };
const vaultOf = (open = () => openKeyring('exit'), rules = exit) => new KeyringVault(open, rules);

async function opened(): Promise<KeyringVault> {
  const vault = vaultOf();
  await vault.retry();
  assert.deepEqual(vault.state, { state: 'open' });
  return vault;
}

let closed = false;
const open: typeof openKeyring = (until) =>
  closed ? Promise.reject(new KeyringError('keyctl', 'EPERM')) : openKeyring(until);
const roomOf = (name: string) =>
  Number(readFileSync(`/proc/sys/kernel/keys/${process.getuid?.() === 0 ? 'root_' : ''}${name}`, 'utf8'));
const contract: SecretsUnderTest = {
  id: 'secrets',
  start(inForce = {}, { place, clock } = {}) {
    if (place === undefined) emptyKeyring();
    return startSecrets(
      { plugin: makeSecrets({ keyring: open }), manifest, config: { in: 'keyring' } },
      inForce,
      clock && { clock },
    );
  },
  // The keyring of this process is the one place that there is.
  place() {
    emptyKeyring();
    return '';
  },
  shut() {
    closed = true;
    return () => {
      closed = false;
    };
  },
  whenShut: { code: 'KEYRING_DENIED', remedy: /seccomp filter .* allow it, or use secrets-file$/ },
  told: ['SECRETS_VOLATILE'],
  noRoom: noKeyring || roomOf('maxbytes') > 8 << 20 ? false : 'this user may have too few keys',
};

describe('secrets in the keyring, of plugins', { skip: noKeyring }, () => secretsContract(contract));
describe('secrets in the keyring, of apps', { skip: noKeyring }, () => secretsOfAppsContract(contract));

describe('a keyring until reboot', { skip: noKeyring }, () => {
  it('is not opened unless the SKU says that the user is alone: what to say is told', async () => {
    const asked: string[] = [];
    const never: typeof openKeyring = (until) => {
      asked.push(until);
      return openKeyring(until);
    };
    const started = await startSecrets({
      plugin: makeSecrets({ keyring: never }),
      manifest,
      config: { in: 'keyring', until: 'reboot' },
    });
    await using _host = started.host;
    assert.deepEqual(await healthOf(started), ['secrets error KEYRING_SHARED']);
    for (const refused of [started.viewOf('a').set('token', TEXT), started.viewOf('a').get('token')])
      await assert.rejects(refused, { code: 'SECRETS_LOCKED', message: /until: exit, or say alone: true in the SKU/ });
    assert.deepEqual(asked, []);
  });

  it('keeps a secret for the next process of the user, and one until exit for this process alone', (t) => {
    const inProcess = (until: string, work: string) => {
      const { stdout, stderr } = spawnSync(
        process.execPath,
        [
          '--input-type=module-typescript',
          '-e',
          `import { openKeyring } from './plugins/state/secrets/keyring/keyring.ts';
          const ring = await openKeyring('${until}'); ${work}`,
        ],
        { cwd: join(import.meta.dirname, '../../..'), encoding: 'utf8' },
      );
      return `${stdout}${stderr}`;
    };
    const NAME = `test:${process.pid}`;
    const add = `ring.add('${NAME}', Buffer.from('x y')); console.log('added');`;
    const read = `const key = ring.keys().get('${NAME}'); console.log(key && Buffer.from(ring.read(key)).toString());`;
    const remove = `const key = ring.keys().get('${NAME}'); if (key) ring.remove(key);`;
    try {
      const added = inProcess('reboot', add);
      if (/EACCES|EPERM/.test(added)) return t.skip('the keyring of this user is refused here');
      assert.equal(added, 'added\n');
      assert.equal(inProcess('reboot', read), 'x y\n');
      assert.equal(
        inProcess(
          'exit',
          `${add}${read.replace('const key', 'const own').replace('key &&', 'own &&').replace('read(key)', 'read(own)')}`,
        ),
        'added\nx y\n',
      );
      assert.equal(inProcess('exit', read), 'undefined\n');
    } finally {
      inProcess('reboot', remove);
    }
    return undefined;
  });
});

describe('the keyring as a vault', { skip: noKeyring }, () => {
  it('returns its secrets, also to the next vault of this process, and forgets removed ones', async () => {
    const texts = ['x', 'correct "horse"\n\nbattery', 'ß🔑\u0000\u0001', 'a'.repeat(16 << 10)];
    for (const text of texts) {
      const vault = await opened();
      await vault.write(key, text, 'operator');
      assert.equal(await vault.read(key), text);
      const next = await opened();
      assert.equal(await next.read(key), text);
      assert.deepEqual([next.records.get(key)?.at, next.records.get(key)?.by], [7, 'operator']);
      await next.write(key, undefined, 'operator');
      assert.equal(await next.read(key), undefined);
      assert.equal(next.records.size, 0);
      await next.write(key, undefined, 'operator');
    }
  });

  it('has keys that only their possessor may look at', async () => {
    const vault = await opened();
    await vault.write(key, 'correct horse', 'operator');
    const line = readFileSync('/proc/keys', 'utf8')
      .split('\n')
      .find((one) => one.includes('device-core:shared'));
    // A key that gives its user no right to view it is in nobody's list but the possessor's.
    if (line !== undefined) assert.match(line, / 2f000000 /);
    await vault.write(key, undefined, 'operator');
  });
});

describe('where the kernel gives no keyring', () => {
  for (const errno of ['EPERM', 'ENOSYS', 'EACCES'])
    it(`says why and what to do about ${errno}, and refuses instead of losing anything`, async () => {
      const vault = vaultOf(async () => {
        throw new KeyringError('read', errno);
      });
      await vault.retry();
      assert.equal(vault.state.state, 'locked');
      assert.match(
        vault.state.reason ?? '',
        new RegExp(`no keyring: read: ${errno}; a seccomp filter .* use secrets-file$`),
      );
      for (const work of [vault.read(key), vault.write(key, 'x', 'operator'), vault.rotate()])
        await assert.rejects(work, (error) => error instanceof CoreError && error.code === 'SECRETS_LOCKED');
    });

  it('keeps to what it can read where another has put keys of such names, and tells both', async () => {
    const ours = Buffer.from('{"at":7,"by":"operator"}\ncorrect horse');
    const vault = new KeyringVault(
      async () => ({
        keys: () =>
          new Map([
            ['device-core:shared/foreign', 1],
            ['device-core:shared/nonsense', 2],
            [`device-core:${key}`, 3],
            ['of others', 1],
          ]),
        add: () => undefined,
        read: (id) => {
          if (id === 1) throw new KeyringError('read', 'EACCES');
          return id === 2 ? Buffer.from('nonsense') : ours;
        },
        remove: () => undefined,
      }),
      { until: 'reboot', alone: true, now: () => 7 },
    );
    await vault.retry();
    assert.deepEqual([vault.state, [...vault.records.keys()]], [{ state: 'open' }, [key]]);
    assert.equal(await vault.read(key), 'correct horse');
    await assert.rejects(vault.read('shared/foreign'), { code: 'STATE_CORRUPT', message: /secret set foreign/ });
    await vault.write('shared/more', 'x', 'operator');
    const said: string[] = [];
    vault.tell({
      add: () => undefined,
      bridge: () => undefined,
      warn: (code, text) => void said.push(`${code} ${text}`),
    });
    assert.equal(said.length, 2);
    assert.match(said[0]!, /^SECRETS_VOLATILE .* starts again, and each process of the same user .* can read them/);
    assert.match(said[1]!, /^KEYRING_FOREIGN 2 keys/);
  });

  it('says that there is no room for more, and where that is set', async () => {
    const vault = vaultOf(async () => ({
      keys: () => new Map(),
      add: () => {
        throw new KeyringError('add_key', 'EDQUOT');
      },
      read: () => Buffer.alloc(0),
      remove: () => undefined,
    }));
    await vault.retry();
    await assert.rejects(
      vault.write(key, 'x', 'operator'),
      (error) =>
        error instanceof CoreError && error.code === 'STORAGE_FULL' && /EDQUOT.*\/proc\/sys/.test(error.message),
    );
  });
});
