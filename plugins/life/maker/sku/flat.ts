import { resolve } from 'node:path';
import { replaceFile } from '@device-core/plugin-api/durable';
import { flatSkuText, readSkuFamily } from '@device-core/plugin-api/inside/sku-family';
import { defineProgram } from '@device-core/plugin-api/program';
import { fineSku } from './resolved.ts';

/** `devicectl sku flat` */
export const program = defineProgram<{ readonly file: string; readonly out?: string }>({
  description: 'A SKU with all that it extends, as one file: what an image and a device have.',
  params: {
    type: 'object',
    required: ['file'],
    properties: {
      file: { type: 'string', description: 'of the SKU' },
      out: { type: 'string', description: 'a file instead of the output' },
    },
  },
  cli: { fixed: ['file'] },
  async run({ out, args }) {
    const { files, sku } = fineSku(args.file);
    if (args.out === undefined && out.json) return out.line(JSON.stringify({ ok: true, files, sku }));
    const text = flatSkuText(readSkuFamily(args.file));
    if (args.out === undefined) return out.line(text.trimEnd());
    await replaceFile(resolve(args.out), text, { mode: 0o644 });
    await out.line(
      out.json ? JSON.stringify({ ok: true, file: resolve(args.out), files }) : `${args.out}: SKU ${sku.id}`,
    );
  },
});
