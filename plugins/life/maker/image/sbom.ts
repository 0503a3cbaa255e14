import { defineProgram, usage } from '@device-core/plugin-api/program';
import { SBOM_FILE } from './build/sbom.ts';
import { IMAGE, openImage } from './source.ts';

/** `devicectl image sbom` */
export const program = defineProgram<{ readonly image: string }>({
  description: 'The list of what is in an image, as CycloneDX.',
  params: {
    type: 'object',
    required: ['image'],
    properties: { image: IMAGE },
  },
  cli: { fixed: ['image'] },
  async run({ out, args }) {
    using source = openImage(args.image);
    const file = source.image.files.find(({ path }) => path === SBOM_FILE);
    if (file === undefined) throw usage(`${args.image} holds no ${SBOM_FILE}`);
    await out.line(source.read(file).toString('utf8').trimEnd());
  },
});
