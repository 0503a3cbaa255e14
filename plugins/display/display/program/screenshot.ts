import { writeFile } from 'node:fs/promises';
import { defineProgram, usage } from '@device-core/plugin-api/program';

interface Args {
  readonly file?: string;
}

/** `devicectl display screenshot` */
export const program = defineProgram<Args>({
  description: 'A PNG of the whole screen.',
  params: {
    type: 'object',
    properties: { file: { type: 'string', description: 'where it goes; screenshot.png if absent' } },
  },
  cli: { fixed: ['file'] },
  async run({ client, out, args: { file = 'screenshot.png' } }) {
    const { body } = await client.get('/display/screenshot');
    const png = Buffer.from(String(body.png), 'base64');
    await writeFile(file, png).catch((error: NodeJS.ErrnoException) => {
      throw usage(`cannot write ${file}: ${error.code}`);
    });
    await out.line(out.json ? JSON.stringify({ ok: true, file, bytes: png.length }) : `${file}: ${png.length} bytes`);
  },
});
