import { writeFile } from 'node:fs/promises';
import { type ProgramOutput, usage } from '@device-core/plugin-api/program';

/** Sound of an answer as a file. */
export async function keep(out: ProgramOutput, file: string, body: Readonly<Record<string, unknown>>): Promise<void> {
  const { wav, ms: length } = body as { readonly wav: string; readonly ms: number };
  try {
    await writeFile(file, Buffer.from(wav, 'base64'));
  } catch (error) {
    throw usage(`cannot write ${file}: ${(error as NodeJS.ErrnoException).code}`);
  }
  const seconds = (length / 1_000).toFixed(1);
  await out.line(out.json ? JSON.stringify({ ok: true, file, ms: length }) : `${file}: ${seconds} s`);
}
