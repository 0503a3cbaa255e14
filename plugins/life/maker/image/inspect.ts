import { defineProgram } from '@device-core/plugin-api/program';
import { IMAGE, openImage } from './source.ts';

const LARGEST = 12;

/** `node_modules/@a/b/c.js` -> `node_modules/@a/b`, `plugins/voice/x/y.js` -> `plugins/voice/x`, else the first folder. */
export function partOf(path: string): string {
  const depth =
    /^node_modules\/@/.test(path) || path.startsWith('plugins/') ? 3 : path.startsWith('node_modules/') ? 2 : 1;
  return path.split('/').slice(0, depth).join('/');
}

/** `devicectl image inspect` */
export const program = defineProgram<{ readonly image: string }>({
  description: 'What an image is, and its largest parts. Nothing is verified: devicectl image verify does that.',
  params: {
    type: 'object',
    required: ['image'],
    properties: { image: IMAGE },
  },
  cli: { fixed: ['image'] },
  async run({ out, args }) {
    using source = openImage(args.image);
    const { files, ...facts } = source.image;
    const bytes = files.reduce((sum, { size }) => sum + size, 0);
    const parts = new Map<string, number>();
    for (const { path, size } of files) parts.set(partOf(path), (parts.get(partOf(path)) ?? 0) + size);
    const largest = [...parts].sort(([, a], [, b]) => b - a).slice(0, LARGEST);
    const signatures = source.signatures.split('\n').filter(Boolean).length;
    if (out.json) {
      const about = { image: source.hash, files: files.length, bytes, signatures, parts: Object.fromEntries(largest) };
      return out.line(JSON.stringify({ ok: true, ...facts, ...about }));
    }
    const { os, arch, libc } = facts.platform;
    await out.line(
      `${facts.sku} ${facts.version} for ${os} ${arch} ${libc}, built ${new Date(facts.builtAt * 1000).toISOString()}`,
    );
    await out.line(`  ${source.hash}, ${signatures} signatures`);
    await out.line(`  ${files.length} files, ${megabytes(bytes)}; needs loader ${facts.minLoader}; ${facts.severity}`);
    if (facts.notes !== undefined) await out.line(`  ${facts.notes}`);
    await out.line(
      `  plugins: ${Object.entries(facts.plugins)
        .map(([id, version]) => `${id} ${version}`)
        .join(', ')}`,
    );
    await out.table(
      ['PART', 'SIZE'],
      largest.map(([part, size]) => [part, megabytes(size)]),
    );
  },
});

export const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(2)} MB`;
