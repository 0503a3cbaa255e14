import { defineProgram } from '@device-core/plugin-api/program';

interface Args {
  readonly role?: 'viewer' | 'operator';
  readonly panel?: boolean;
}

const LOOPBACK = /^https?:\/\/(127\.|\[::1\]|localhost\b)/;
/** As long as the code is good. */
const SHOWN_MS = 120_000;

/** `devicectl web` */
export const program = defineProgram<Args>({
  description: 'Open it in a browser on this machine. The code stands behind the #, which no server sees.',
  params: {
    type: 'object',
    properties: {
      role: {
        enum: ['viewer', 'operator'],
        description:
          'a viewer may look and change nothing; operator, if absent, but viewer on the panel, which others see',
      },
      panel: { type: 'boolean', description: 'show it on the panel, too, as something to scan' },
    },
  },
  async run({ client, out, args }) {
    const { text, body } = await client.post('/sessions/codes', {
      role: args.role ?? (args.panel ? 'viewer' : 'operator'),
    });
    const { code, pages } = body as { readonly code: string; readonly pages: readonly string[] };
    const addresses = pages.map((page) => `${page}#code=${code}`);
    // One that other devices can open, where there is one.
    const [url] = addresses.toSorted((one, other) => Number(LOOPBACK.test(one)) - Number(LOOPBACK.test(other)));
    if (args.panel && url !== undefined) await client.put('/display/pairing', { url, ms: SHOWN_MS });
    if (out.json) return out.line(text);
    await out.line(addresses.join('\n') || `code ${code}; the Core listens on no TCP address`);
  },
});
