import { writeFile } from 'node:fs/promises';
import { encodeWav, resample } from '@device-core/plugin-api/audio';
import { cell, defineProgram, type ProgramClient, usage } from '@device-core/plugin-api/program';
import { CAPTURE_RATE } from '@device-core/plugin-api/services/audio';
import { rateText, shareText } from './figures.ts';
import { readWav, wavsBelow } from './recordings.ts';
import { proposal, type Trial, tradeOff } from './trade-off.ts';
import { picture } from './tune-picture.ts';

interface Args {
  readonly positive: string;
  readonly negative: string;
  readonly phrase: string;
  readonly falsePerHour: number;
  readonly svg?: string;
  readonly files: number;
}

const PIECE_S = 50;
const PIECE_MS = 150_000;

/** `devicectl voice tune` */
export const program = defineProgram<Args>({
  description:
    'The wake engine of the device judges the files, as fast as it can and without a microphone. Nothing is changed.',
  params: {
    type: 'object',
    required: ['positive', 'negative'],
    properties: {
      positive: { type: 'string', description: 'folder of recordings that hold the phrase once' },
      negative: { type: 'string', description: 'folder of recordings without it: speech, music, noise' },
      phrase: { type: 'string', default: 'hey computer', description: 'that is said' },
      falsePerHour: { type: 'number', minimum: 0, default: 0.5, description: 'false calls an hour that are bearable' },
      svg: { type: 'string', description: 'file for a picture of the trade-off' },
      files: { type: 'integer', minimum: 1, maximum: 10_000, default: 1_000, description: 'in a folder at most' },
    },
  },
  cli: { fixed: ['positive', 'negative'] },
  async run({ client, out, args, signal }) {
    const { phrase: given, falsePerHour, svg, files } = args;
    const phrase = given.trim().toLowerCase();
    const folders = [await wavsBelow(args.positive, files), await wavsBelow(args.negative, files)] as const;
    const trials: [Trial[], Trial[]] = [[], []];
    for (const [place, paths] of folders.entries())
      for (const path of paths) {
        signal.throwIfAborted();
        trials[place]!.push(await judged(client, path, phrase));
        const count = trials[0].length + trials[1].length;
        if (out.terminal && !out.json && count % 20 === 0)
          await out.line(`${count} of ${folders[0].length + folders[1].length} recordings`);
      }
    const rows = tradeOff(...trials);
    const chosen = proposal(rows, falsePerHour);
    if (svg !== undefined)
      await writeFile(svg, picture({ phrase, rows, chosen })).catch((error: NodeJS.ErrnoException) => {
        throw usage(`cannot write ${svg}: ${error.code}`);
      });
    if (out.json) return out.line(JSON.stringify({ ok: true, phrase, proposed: chosen?.threshold, rows }));
    await out.table(
      ['THRESHOLD', 'MISSED (95 %)', 'FALSE CALLS (95 %)', ''],
      rows.map((row) => [
        row.threshold.toFixed(2),
        shareText(row.missed),
        rateText(row.falseCalls),
        row === chosen ? 'proposed' : '',
      ]),
    );
    await out.line('');
    if (!chosen) {
      await out.line(`no threshold keeps the false calls at ${falsePerHour} an hour: take another phrase or engine`);
      return;
    }
    await out.line(`wake: [{ phrase: ${cell(phrase)}, threshold: ${chosen.threshold} }]`);
    if (chosen.falseCalls.high > falsePerHour)
      await out.line(
        `${(60 * chosen.falseCalls.hours).toFixed(1)} minutes without the phrase do not show less than ${falsePerHour} an hour: record more`,
      );
  },
});

async function judged(client: ProgramClient, path: string, phrase: string): Promise<Trial> {
  const { samples } = resample(await readWav(path), CAPTURE_RATE);
  const strictest: number[] = [];
  for (let from = 0; from < samples.length; from += PIECE_S * CAPTURE_RATE) {
    const piece = samples.subarray(from, from + PIECE_S * CAPTURE_RATE);
    const wav = Buffer.from(encodeWav({ rate: CAPTURE_RATE, samples: piece })).toString('base64');
    const request = { timeoutMs: PIECE_MS };
    const { body } = await client.post('/speech/phrases', { wav, phrases: [phrase] }, request);
    strictest.push(...(body.hits as readonly { readonly strictest: number }[]).map((hit) => hit.strictest));
  }
  return { path, seconds: samples.length / CAPTURE_RATE, strictest };
}
