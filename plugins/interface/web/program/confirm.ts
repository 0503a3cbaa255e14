import { rightLines } from '@device-core/plugin-api/inside/program';
import { cell, defineProgram, quoted } from '@device-core/plugin-api/program';
import type { ActSubject } from '@device-core/plugin-api/services/prompts';

interface Answer {
  readonly code: string;
  readonly waiting: readonly { readonly name: string; readonly act: string; readonly about?: ActSubject }[];
}

/** `devicectl web confirm` */
export const program = defineProgram({
  description: 'Type the code into the page that asked. It confirms one act; look first at what the page wants to do.',
  async run({ client, out }) {
    const { text, body } = await client.post('/sessions/confirmation-codes', {});
    if (out.json) return out.line(text);
    const { code, waiting } = body as unknown as Answer;
    for (const { name, act, about } of waiting) {
      await out.line(`${quoted(name)} wants to ${cell(act)}`);
      const { what = [], claims = [], ...of } = about ?? { id: '' };
      const lines = rightLines({ kind: 'confirm', what, claims, ...(about && { about: of }) });
      for (const line of lines) await out.line(`  ${line}`);
    }
    if (waiting.length === 0) await out.line('no page waits for a confirmation now');
    await out.line(`code ${code}`);
  },
});
