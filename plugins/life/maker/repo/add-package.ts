/** `devicectl repo add-app` and `repo add-plugin`. */
import { resolve } from 'node:path';
import { PACKAGE_OFFERS, type PackageNoun } from '@device-core/plugin-api/inside/packages';
import { defineProgram, type Program } from '@device-core/plugin-api/program';
import { newEdition, REPOSITORY, type RepositoryArgs } from './command.ts';
import { addPackage, forWhat } from './packages.ts';

interface Args extends RepositoryArgs {
  readonly package: string;
  readonly signers: readonly string[];
}

const MADE_BY = { app: 'an .app file, as app pack writes it', plugin: 'a .tgz, as npm pack writes it' } as const;

export const adding = (noun: PackageNoun): Program<Args> =>
  defineProgram<Args>({
    description: `Offers a package to devices, in the channel ${PACKAGE_OFFERS[noun].channel}. It is unpacked and checked first: its manifest, and that one of the signers signed it. The same package again ends that it was called back.`,
    params: {
      type: 'object',
      required: ['repository', 'package', 'signers', 'keys'],
      properties: {
        ...REPOSITORY,
        package: { type: 'string', description: MADE_BY[noun] },
        signers: {
          type: 'array',
          items: { type: 'string' },
          minItems: 1,
          maxItems: 64,
          description: 'file of a public key that devices trust; may be repeated, one of them signed the package',
        },
      },
    },
    cli: { fixed: ['repository', 'package'], flags: { signers: ['signer'] } },
    async run({ out, args }) {
      const { channel } = PACKAGE_OFFERS[noun];
      const { offer, path, signer, bytes } = await newEdition(args, async ({ repository, edition, now }) => {
        const publishedAt = Math.floor(now / 1000);
        const file = resolve(args.package);
        const wanted = { noun, file, signers: args.signers, publishedAt };
        const added = await addPackage(repository, edition.role(channel), wanted);
        edition.edit(channel, added.change);
        return added;
      });
      const { id, version, package: hash } = offer;
      if (out.json) return out.line(JSON.stringify({ ok: true, id, version, path, bytes, package: hash, signer }));
      await out.line(`${channel} offers ${id} ${version} for ${forWhat(offer)}`);
      await out.line(`${hash}: ${bytes} bytes, signed by ${signer}`);
    },
  });
