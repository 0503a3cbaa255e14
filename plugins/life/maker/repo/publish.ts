import { resolve } from 'node:path';
import { defineProgram } from '@device-core/plugin-api/program';
import { newEdition, REPOSITORY, type RepositoryArgs } from './command.ts';
import { copyRepository } from './copy.ts';

interface Args extends RepositoryArgs {
  readonly days?: number;
  readonly renew: readonly string[];
  readonly to?: string;
}

const DAY = 86_400_000;
const SOON_DAYS = 60;

/** `devicectl repo publish` */
export const program = defineProgram<Args>({
  description:
    'Says that what is offered is still so: a new timestamp, for which the keys snapshot and timestamp suffice. Run it once a day, even when nothing is new.',
  params: {
    type: 'object',
    required: ['repository', 'keys'],
    properties: {
      ...REPOSITORY,
      days: { type: 'integer', minimum: 1, maximum: 365, description: 'how long devices believe it (default: 14)' },
      renew: {
        type: 'array',
        items: { type: 'string' },
        default: [],
        description: 'roles to sign anew, with their keys',
      },
      to: { type: 'string', description: 'folder of a web server to copy the repository to' },
    },
  },
  cli: { fixed: ['repository'] },
  async run({ out, args }) {
    const { version, expires, soon } = await newEdition(
      args,
      ({ edition, now }) => {
        for (const role of args.renew) {
          if (role === 'root') edition.editRoot((root) => root);
          // Snapshot and timestamp are new each time.
          else if (role !== 'snapshot' && role !== 'timestamp') {
            edition.role(role);
            edition.edit(role);
          }
        }
        const roles = ['targets', ...edition.channels].map((name) => [name, edition.role(name).expires] as const);
        const ends = [...roles, ['root', edition.root.expires] as const];
        return {
          ...edition.next,
          soon: ends.filter(([name, day]) => !args.renew.includes(name) && Date.parse(day) < now + SOON_DAYS * DAY),
        };
      },
      { days: args.days },
    );
    const copied = args.to === undefined ? undefined : await copyRepository(args.repository, args.to);
    if (out.json)
      return out.line(JSON.stringify({ ok: true, version, expires, soon: Object.fromEntries(soon), copied }));
    await out.line(`version ${version} is good until ${expires.slice(0, 10)}`);
    for (const [name, day] of soon) await out.line(`${name} ends on ${day.slice(0, 10)}: publish with --renew ${name}`);
    if (args.to !== undefined) await out.line(`${copied} files went to ${resolve(args.to)}`);
  },
});
