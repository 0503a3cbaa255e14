import { resolve } from 'node:path';
import { defineProgram, usage } from '@device-core/plugin-api/program';
import { newEdition, REPOSITORY, type RepositoryArgs, type Step } from './command.ts';
import { keysOf } from './edition.ts';
import type { RingKey } from './keyring.ts';
import type { RoleKeys, TopRole, TufKey } from './metadata.ts';

interface Args extends RepositoryArgs {
  readonly role: string;
  readonly former: string;
  readonly next: string;
  readonly lost?: boolean;
}

/** `devicectl repo rotate-key` */
export const program = defineProgram<Args>({
  description:
    'Puts a key in the place of another. Keys of root, targets, snapshot and timestamp are changed by two keys of root, those of channels by the key of targets.',
  params: {
    type: 'object',
    required: ['repository', 'role', 'former', 'next', 'keys'],
    properties: {
      ...REPOSITORY,
      role: { type: 'string', description: 'whose key it is' },
      former: { type: 'string', description: 'name of the key that goes' },
      next: { type: 'string', description: 'name of the key that comes' },
      lost: { type: 'boolean', description: 'the key that goes can sign no more' },
    },
  },
  cli: { fixed: ['repository', 'role', 'former', 'next'] },
  async run({ out, args }) {
    const { role, former, next } = args;
    await newEdition(args, (step) => rotate(step, role, step.keyring.named(former), step.keyring.named(next)), {
      lost: args.lost,
    });
    if (out.json) return out.line(JSON.stringify({ ok: true, role, former, next }));
    await out.line(`${role} of ${resolve(args.repository)} is signed by ${next}, and no more by ${former}`);
  },
});

function rotate({ edition }: Step, role: string, from: RingKey, to: RingKey): void {
  const { root } = edition;
  const former = keysOf(root, edition.roles, role);
  if (!former.keyids.includes(from.id)) throw usage(`${from.name} is no key of ${role}`);
  if (former.keyids.includes(to.id)) throw usage(`${to.name} is a key of ${role} already`);
  const next: RoleKeys = { ...former, keyids: former.keyids.map((id) => (id === from.id ? to.id : id)) };
  if (role in root.roles) {
    const roles = { ...root.roles, [role as TopRole]: next };
    edition.editRoot((before) => ({ ...before, roles, keys: known(before.keys, to, Object.values(roles)) }));
    if (role === 'targets') edition.edit('targets');
    return;
  }
  edition.edit('targets', (targets) => {
    const roles = (targets.delegations?.roles ?? []).map((one) => (one.name === role ? { ...one, ...next } : one));
    return { ...targets, delegations: { roles, keys: known(targets.delegations?.keys ?? {}, to, roles) } };
  });
  edition.edit(role);
}

/** With the new key, and without those that nobody names any more. */
function known(keys: Readonly<Record<string, TufKey>>, { id, json }: RingKey, roles: readonly RoleKeys[]) {
  const named = new Set(roles.flatMap(({ keyids }) => keyids));
  return Object.fromEntries(Object.entries({ ...keys, [id]: json }).filter(([one]) => named.has(one)));
}
