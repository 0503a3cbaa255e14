/** What a thief of keys, a bad network or a forgetful owner makes of a repository, and what a device says to it. */
import assert from 'node:assert/strict';
import { createPublicKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import { openSigner } from '../../../plugins/life/maker/keys/signer.ts';
import { LIST_TARGET } from '../../../plugins/life/maker/repo/content.ts';
import type { Edition } from '../../../plugins/life/maker/repo/edition.ts';
import type { RepositoryFolder } from '../../../plugins/life/maker/repo/folder.ts';
import { type RootSigned, signed, tufKey } from '../../../plugins/life/maker/repo/metadata.ts';
import { UpdateRepository } from '../../fixtures/update-repository.ts';
import * as web from '../../fixtures/update-server.ts';
import { DAY, FAILED, latest, metadata, PLACE, UNTRUSTED, type World } from './repository-world.ts';

/** A target of 1.1.0 with another content, which the channel signs. */
const withTarget =
  (name: string, bytes: Uint8Array, more?: object) => async (edition: Edition, folder: RepositoryFolder) => {
    const path = `${PLACE}/1.1.0/${name}`;
    const former = edition.role('stable').targets[path]!;
    const entry = await folder.addTarget(path, bytes, { ...former.custom, ...more });
    edition.edit('stable', (role) => ({ ...role, targets: { ...role.targets, [path]: entry } }));
  };

const many = (name: (nth: number) => string): readonly unknown[] =>
  Array.from({ length: 10_000 }, (_, nth) => ({ name: name(nth), keyids: ['a'.repeat(64)], threshold: 1 }));

/** Its signatures do not matter: it is to be refused before anybody looks at them. */
const large =
  (more: object): web.Answer =>
  (_, response) =>
    void response.end(JSON.stringify({ signatures: [], signed: { _type: 'targets', version: 1, ...more } }));

export interface Attack {
  readonly name: string;
  readonly make: (at: World) => Promise<void> | void;
  readonly code: RegExp;
  readonly reason: RegExp;
  /** 1.1.0 is found again when the web server is well. */
  readonly healed?: boolean;
  /** What the channel signed is as TUF wants it: the metadata are kept. */
  readonly signed?: boolean;
}

export const ATTACKS: readonly Attack[] = [
  {
    name: 'an older timestamp, with all that belongs to it',
    async make(at) {
      const old = join(at.repository.place, 'old');
      await cp(at.repository.folder, old, { recursive: true });
      await at.repository.offer({ version: '1.2.0' });
      assert.equal(await at.version(), '1.2.0');
      at.server.serve(old);
    },
    code: UNTRUSTED,
    reason: /timestamp version \d+ is less than current version \d+/,
  },
  {
    name: 'a set that nobody renewed for 30 days',
    make: (at) => at.repository.forge(() => undefined, { now: Date.now() - 30 * DAY }),
    code: UNTRUSTED,
    reason: /timestamp\.json ended on 20\d\d-/,
  },
  {
    name: 'an old channel below a new snapshot',
    async make(at) {
      const old = await readFile(metadata(at, latest(at, 'stable')));
      await at.repository.offer({ version: '1.2.0' });
      await writeFile(metadata(at, latest(at, 'stable')), old);
    },
    code: UNTRUSTED,
    reason: /Unable to load targets: Expected (length|hash)/,
  },
  {
    name: 'an old snapshot below a new timestamp',
    async make(at) {
      const old = await readFile(metadata(at, latest(at, 'snapshot')));
      await at.repository.offer({ version: '1.2.0' });
      await writeFile(metadata(at, latest(at, 'snapshot')), old);
    },
    code: UNTRUSTED,
    reason: /Unable to load snapshot: Expected (length|hash)/,
  },
  {
    name: 'a whole repository of other keys',
    async make(at) {
      await using other = await UpdateRepository.create();
      await other.offer({ version: '6.6.6' });
      await cp(other.folder, at.repository.folder, { recursive: true });
    },
    code: UNTRUSTED,
    reason: /timestamp was signed by 0\/1 keys/,
  },
  {
    name: 'a channel signed by the key of another one',
    async make(at) {
      for (const ending of ['key', 'pub'])
        await cp(join(at.repository.keys, `beta.${ending}`), join(at.repository.keys, `stable.${ending}`));
      await at.repository.forge((edition) => {
        // The keyring finds no key of stable any more: the thief signs with what he has.
        const beta = edition.role('targets').delegations!.roles.find(({ name }) => name === 'beta')!;
        edition.edit('targets', (targets) => ({
          ...targets,
          delegations: {
            ...targets.delegations!,
            roles: targets.delegations!.roles.map((role) =>
              role.name === 'stable' ? { ...role, keyids: beta.keyids } : role,
            ),
          },
        }));
        edition.edit('stable');
      });
      // The targets of before, which name the right key: the snapshot that fits them is signed as it must be.
      await at.repository.forge((edition) => {
        const { keyids } = JSON.parse(readFileSync(metadata(at, '1.targets.json'), 'utf8')).signed.delegations.roles[0];
        edition.edit('targets', (targets) => ({
          ...targets,
          delegations: {
            ...targets.delegations!,
            keys: JSON.parse(readFileSync(metadata(at, '1.targets.json'), 'utf8')).signed.delegations.keys,
            roles: targets.delegations!.roles.map((role) => (role.name === 'stable' ? { ...role, keyids } : role)),
          },
        }));
      });
    },
    code: UNTRUSTED,
    reason: /stable was signed by 0\/1 keys/,
  },
  {
    name: 'a root that one of two keys signed',
    async make(at) {
      const { id } = tufKey(createPublicKey((await openSigner(join(at.repository.keys, 'root-1'))).key));
      const signer = { ...(await openSigner(join(at.repository.keys, 'root-1'))), id };
      const root = JSON.parse(readFileSync(metadata(at, '1.root.json'), 'utf8')).signed as RootSigned;
      await writeFile(metadata(at, '2.root.json'), signed({ ...root, version: 2 }, [signer]));
    },
    code: UNTRUSTED,
    reason: /root was signed by 1\/2 keys/,
  },
  {
    name: 'a root that skips a version',
    async make(at) {
      await at.repository.edit(({ edition }) => edition.editRoot((root) => root));
      await at.repository.edit(({ edition }) => edition.editRoot((root) => root));
      await cp(metadata(at, '3.root.json'), metadata(at, '2.root.json'));
    },
    code: UNTRUSTED,
    reason: /Expected version 2, got 3/,
  },
  {
    name: 'ten thousand delegations',
    make: async (at) => {
      await at.repository.edit(({ edition }) => edition.edit('targets'));
      at.server.answer([/targets\.json/, large({ delegations: { keys: {}, roles: many((nth) => `role-${nth}`) } })]);
    },
    code: FAILED,
    reason: /targets\.json has (more than \d+ bytes|\d+ bytes, more than \d+)/,
    healed: true,
  },
  {
    name: 'a channel of ten thousand versions',
    make: (at) =>
      at.server.answer([/stable\.json/, large({ targets: many((nth) => `${PLACE}/9.${nth}.0/${LIST_TARGET}`) })]),
    code: FAILED,
    reason: /stable\.json has (more than \d+ bytes|\d+ bytes, more than \d+)/,
    healed: true,
  },
  {
    name: 'a chain of delegations',
    make: (at) =>
      at.repository.forge((edition) => {
        const { delegations } = edition.role('targets');
        const { id, json } = Object.entries(delegations!.keys).map(([id, json]) => ({ id, json }))[0]!;
        const to = (name: string) => ({
          name,
          keyids: [id],
          threshold: 1,
          terminating: false,
          paths: ['stable/*/*/*/*'],
        });
        edition.edit('targets', (targets) => ({
          ...targets,
          delegations: { keys: { [id]: json }, roles: [to('stable')] },
        }));
        // Each leads to itself: the walk is over when it has been everywhere once.
        edition.edit('stable', (role) => ({
          ...role,
          targets: {},
          delegations: { keys: { [id]: json }, roles: [to('stable')] },
        }));
      }),
    code: /^none$/,
    reason: /^nothing is offered$/,
  },
  {
    name: 'metadata nested a hundred thousand deep',
    make: (at) =>
      at.server.answer([
        /timestamp/,
        (_, response) => void response.end(`{"signatures":[],"signed":{"a":${'['.repeat(5_000)}${']'.repeat(5_000)}}}`),
      ]),
    code: FAILED,
    reason: /is no metadata: it is nested too deep/,
    healed: true,
  },
  {
    name: 'a list that unpacks to far more than it is',
    make: (at) => at.repository.forge(withTarget(LIST_TARGET, zstdCompressSync(Buffer.alloc(40 << 20)))),
    signed: true,
    code: UNTRUSTED,
    reason: /the list of 1\.1\.0 cannot be unpacked/,
  },
  {
    name: 'a list that is none',
    make: (at) => at.repository.forge(withTarget(LIST_TARGET, zstdCompressSync('{"image": 2}'))),
    signed: true,
    code: UNTRUSTED,
    reason: /the list of 1\.1\.0 is none: form 2/,
  },
  {
    name: 'the list of another SKU under the name of ours',
    async make(at) {
      const { list } = await at.repository.image({ version: '1.1.0', sku: 'gateway' });
      await at.repository.forge(withTarget(LIST_TARGET, zstdCompressSync(list)));
    },
    signed: true,
    code: UNTRUSTED,
    reason: /the list of 1\.1\.0 is of gateway 1\.1\.0/,
  },
  {
    name: 'the list of an older version under a newer name',
    async make(at) {
      const { list } = await at.repository.image({ version: '1.0.0' });
      await at.repository.forge(withTarget(LIST_TARGET, zstdCompressSync(list)));
    },
    signed: true,
    code: UNTRUSTED,
    reason: /the list of 1\.1\.0 is of kiosk 1\.0\.0/,
  },
  {
    name: 'sizes of another list',
    make: (at) => at.repository.forge(withTarget('blobs.json', Buffer.from('{"form":1,"bytes":[1,2,3]}'))),
    signed: true,
    code: UNTRUSTED,
    reason: /blobs\.json is of another list/,
  },
  {
    name: 'sizes below nothing',
    make: (at) => at.repository.forge(withTarget('blobs.json', Buffer.from('{"form":1,"bytes":[-1,1e300]}'))),
    signed: true,
    code: UNTRUSTED,
    reason: /blobs\.json is of another list/,
  },
  {
    name: 'a list whose role says that it has a gigabyte',
    make: (at) =>
      at.repository.forge((edition) =>
        edition.edit('stable', (role) => {
          const path = `${PLACE}/1.1.0/${LIST_TARGET}`;
          return { ...role, targets: { ...role.targets, [path]: { ...role.targets[path]!, length: 2 ** 30 } } };
        }),
      ),
    signed: true,
    code: UNTRUSTED,
    reason: /image\.json\.zst has 1073741824 bytes, more than/,
  },
  {
    name: 'a version without its signatures',
    make: (at) =>
      at.repository.forge((edition) =>
        edition.edit('stable', (role) => {
          const { [`${PLACE}/1.1.0/image.sig`]: _, ...targets } = role.targets;
          return { ...role, targets };
        }),
      ),
    signed: true,
    code: UNTRUSTED,
    reason: /stable names no image\.sig of 1\.1\.0/,
  },
  {
    name: 'redirects without an end',
    make: (at) => at.server.answer([/./, web.leadsTo((path) => `${path}x`)]),
    code: FAILED,
    reason: /from one address to the next, more than 5 times/,
    healed: true,
  },
  {
    name: 'a captive portal that leads to its own page',
    make: (at) => at.server.answer([/./, web.leadsTo(() => 'http://login.invalid/welcome')]),
    code: FAILED,
    reason: /leads to login\.invalid: a proxy or the login page/,
    healed: true,
  },
  {
    name: 'a redirect to what is no address',
    make: (at) => at.server.answer([/./, web.leadsTo(() => 'file:///etc/passwd')]),
    code: FAILED,
    reason: /leads to an address that is none/,
    healed: true,
  },
  {
    name: 'an answer that was packed once more',
    make: (at) =>
      at.server.answer([
        /timestamp/,
        (_, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end('x'),
      ]),
    code: FAILED,
    reason: /packs metadata\/timestamp\.json once more/,
    healed: true,
  },
  {
    name: 'an answer that is no HTTP',
    make: (at) =>
      at.server.answer([/timestamp/, (_, response) => void response.socket!.end('SSH-2.0-OpenSSH_9.2\r\n')]),
    code: FAILED,
    reason: /the connection broke off \(HPE_/,
    healed: true,
  },
  {
    name: 'a device without a first root',
    make(at) {
      at.root = join(at.state, 'nowhere.json');
    },
    code: UNTRUSTED,
    reason: /has no first root for it: put the first root\.json of the repository at \//,
  },
];
