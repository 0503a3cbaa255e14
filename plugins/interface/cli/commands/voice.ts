/** `devicectl voice`: speak, ask, listen, and where the time of a turn went. */
import type { LedgerEntry, VoiceTurn } from '@device-core/plugin-api';
import type { Command } from 'commander';
import { action } from '../cli.ts';
import type { CoreClient } from '../client.ts';
import { EXIT, Failure, usage } from '../failure.ts';
import { readBytes, writeBytes } from '../inputs.ts';
import { cell, type Output, timeOf } from '../output.ts';

/** A turn lasts a minute at most, and an announcement may wait for one. */
const TURN_MS = 75_000;
const SAY_MS = 140_000;
const POLL_MS = 100;

interface SayOptions {
  readonly voice?: string;
  readonly out?: string;
}

export function addVoice(program: Command): void {
  const voice = program.command('voice').description('what the device hears and says');
  voice
    .command('status', { isDefault: true })
    .description('what it is doing')
    .action(
      action(async ({ client, out }) => {
        const answer = await client.get('/voice');
        if (out.json) return out.line(answer.text);
        const { state, muted, reason } = answer.body as { state: string; muted: boolean; reason?: string };
        await out.line(
          `${out.state(state)}${muted ? ', the microphone is muted' : ''}${reason ? `: ${cell(reason)}` : ''}`,
        );
      }),
    );
  voice
    .command('say <text>')
    .description('speak a text')
    .option('--voice <name>', 'another voice of the speech engine')
    .option('--out <file>', 'into a WAV file instead of the speaker')
    .action(
      action<[string], SayOptions>(async ({ client, out }, [text], { voice: named, out: file }) => {
        if (file !== undefined) {
          const answer = await client.post('/speech/synthesize', { text, ...(named && { voice: named }) });
          return await keep(out, file, answer.body);
        }
        const answer = await client.post('/voice/say', { text, ...(named && { voice: named }) }, { timeoutMs: SAY_MS });
        await out.line(out.json ? answer.text : 'said');
      }),
    );
  voice
    .command('ask <text>')
    .description('do what a text says, as if it had been heard')
    .action(
      action<[string]>(async ({ client, out }, [text]) => {
        const answer = await client.post('/voice/ask', { text }, { timeoutMs: TURN_MS });
        if (out.json) return out.line(answer.text);
        await tell(out, answer.body as unknown as VoiceTurn);
      }),
    );
  voice
    .command('listen [file]')
    .description('listen to a command without a wake phrase; with a WAV file: let the simulated microphone hear it')
    .option('--no-wake', 'the file holds a command without a wake phrase')
    .action(
      action<[string | undefined], { readonly wake: boolean }>(async ({ client, out }, [file], { wake }) => {
        if (file === undefined && !wake) throw usage('--no-wake says something about a file');
        const wav = file === undefined ? undefined : (await readBytes(file)).toString('base64');
        const turn = await (wav !== undefined && wake ? called(client, wav) : heard(client, wav));
        if (out.json) return out.line(JSON.stringify({ ok: true, ...turn }));
        await tell(out, turn);
      }),
    );
  voice
    .command('heard <file>')
    .description('what the simulated speaker played last, into a WAV file')
    .action(
      action<[string]>(async ({ client, out }, [file]) => keep(out, file, (await client.get('/audio/heard')).body)),
    );
  addRecords(voice);
  for (const [name, muted] of [
    ['mute', true],
    ['unmute', false],
  ] as const)
    voice
      .command(name)
      .description(`${name} the microphone`)
      .action(
        action(async ({ client, out }) => {
          const answer = await client.put('/voice/mute', { muted });
          await out.line(out.json ? answer.text : `the microphone is ${muted ? 'muted' : 'open'}`);
        }),
      );
}

function addRecords(voice: Command): void {
  voice
    .command('trace')
    .description('the latest turns, and where their time went')
    .option('--limit <n>', 'how many', '5')
    .action(
      action<[], { readonly limit: string }>(async ({ client, out }, _, { limit }) => {
        const answer = await client.get('/voice/turns', { query: { limit } });
        if (out.json) return out.line(answer.text);
        const turns = answer.body.turns as readonly VoiceTurn[];
        if (turns.length === 0) return out.line('there were no turns');
        for (const turn of turns) {
          const latency = turn.latencyMs === undefined ? '' : `, ${turn.latencyMs} ms to the answer`;
          await out.line(`${timeOf(turn.at)}  ${turn.source}${latency}  ${cell(turn.turn)}`);
          await tell(out, turn, '  ');
          for (const { name, from, to, note } of turn.spans)
            await out.line(`  ${name.padEnd(9)}${ms(from)} .. ${ms(to)}  ${cell(note)}`.trimEnd());
        }
      }),
    );
  voice
    .command('ledger')
    .description('what left the device, when, to whom and by which rule')
    .option('--limit <n>', 'how many', '20')
    .action(
      action<[], { readonly limit: string }>(async ({ client, out }, _, { limit }) => {
        const answer = await client.get('/voice/ledger', { query: { limit } });
        if (out.json) return out.line(answer.text);
        const { entries, unsent, used } = answer.body as unknown as {
          entries: readonly LedgerEntry[];
          unsent: readonly { readonly at: number; readonly rule: string; readonly reason: string }[];
          used: { readonly daySeconds: number; readonly monthSeconds: number };
        };
        await out.table(
          ['WHEN', 'WHAT', 'BYTES', 'TO', 'RULE'],
          entries.map(({ at, what, bytes, to, rule }) => [new Date(at).toISOString(), what, String(bytes), to, rule]),
          { empty: 'nothing left the device' },
        );
        if (entries.length > 0)
          await out.line(`sent today ${used.daySeconds.toFixed(1)} s, this month ${used.monthSeconds.toFixed(1)} s`);
        for (const { at, rule, reason } of unsent)
          await out.line(`not sent  ${new Date(at).toISOString()}  ${cell(rule)}: ${cell(reason)}`);
      }),
    );
}

/** The turn that the wake phrase of a file begins. */
async function called(client: CoreClient, wav: string): Promise<VoiceTurn> {
  if ((await client.get('/voice')).body.muted === true)
    throw new Failure(EXIT.answered, 'VOICE_MUTED', 'the microphone is muted: devicectl voice unmute');
  const [before] = await latest(client, 1);
  const injected = await client.post('/audio/inject', { wav });
  const deadline = performance.now() + Number(injected.body.ms) + TURN_MS;
  const spoken = performance.now() + Number(injected.body.ms) + 5_000;
  while (performance.now() < deadline) {
    const turns = await latest(client, 20);
    const known = turns.findIndex(({ turn }) => turn === before?.turn);
    const [first] = turns.slice(0, known < 0 ? undefined : known).reverse();
    if (first && first.outcome !== 'running') return first;
    if (!first && performance.now() > spoken) throw new Failure(EXIT.answered, 'TIMEOUT', 'no wake phrase was heard');
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new Failure(EXIT.answered, 'TIMEOUT', 'the turn did not end in time');
}

/** A turn without wake phrase, of a file or of who speaks. */
async function heard(client: CoreClient, wav: string | undefined): Promise<VoiceTurn> {
  const over = new AbortController();
  const listening = client.post('/voice/listen', {}, { timeoutMs: TURN_MS }).finally(() => over.abort());
  const play = async () => {
    while (!over.signal.aborted && (await client.get('/voice')).body.state !== 'listening')
      await new Promise((resolve) => setTimeout(resolve, POLL_MS / 5));
    if (!over.signal.aborted) await client.post('/audio/inject', { wav });
  };
  const [{ body }] = await Promise.all([listening, wav === undefined ? undefined : play()]);
  return body as unknown as VoiceTurn;
}

async function latest(client: CoreClient, limit: number): Promise<readonly VoiceTurn[]> {
  return (await client.get('/voice/turns', { query: { limit } })).body.turns as readonly VoiceTurn[];
}

async function tell(
  out: Output,
  { heard: words, engine, stage, plan, said, outcome, code }: VoiceTurn,
  indent = '',
): Promise<void> {
  const line = (name: string, text: string | undefined) =>
    text === undefined ? Promise.resolve() : out.line(`${indent}${name.padEnd(9)}${cell(text)}`);
  const slots = Object.entries(plan?.slots ?? {}).map(([name, value]) => `${name}=${value}`);
  const nothing = words === '' ? 'nothing that is known' : undefined;
  await line('heard', nothing ?? (words && `${words}${engine ? `  (${engine}, ${stage})` : ''}`));
  await line('plan', plan && [plan.intent, ...slots].join(' '));
  await line('said', said);
  await line('outcome', code ? `${outcome}, ${code}` : outcome);
}

/** Sound of an answer as a file. */
async function keep(out: Output, file: string, body: Readonly<Record<string, unknown>>): Promise<void> {
  const { wav, ms: length } = body as { readonly wav: string; readonly ms: number };
  await writeBytes(file, Buffer.from(wav, 'base64'));
  const seconds = (length / 1_000).toFixed(1);
  await out.line(out.json ? JSON.stringify({ ok: true, file, ms: length }) : `${file}: ${seconds} s`);
}

function ms(value: number): string {
  return value.toFixed(1).padStart(9);
}
