/** Requests to the writer of slots, a line of JSON each: the root helper and the thread of inline mode take the same. */
import { SlotRefused } from './refused.ts';
import type { Heeding, SlotWriter } from './slot-writer.ts';

/** Acts on the whole device. */
export interface MachineActs {
  /** Once, at the next start. */
  safeMode(): void;
  reboot(): void;
  powerOff(): void;
}

/**
 * An answer: `ok` and what came of it; `refused` with a code of SLOT_CODES and the reason; `failed` where it is this
 * program that is wrong.
 */
export type SlotAnswer =
  | { readonly ok: unknown }
  | { readonly refused: string; readonly reason: string }
  | { readonly failed: string };

type Members = Readonly<Record<string, unknown>>;
interface Verb {
  /** Members beside `verb`, and what they must be. */
  readonly takes: Readonly<Record<string, (value: unknown) => boolean>>;
  readonly run: (members: Members, heeding: Heeding) => unknown;
}

const LONGEST_PATH = 4_096;
const isPath = (value: unknown): boolean => typeof value === 'string' && value.length <= LONGEST_PATH;
const isSlot = (value: unknown): boolean => value === 'a' || value === 'b';
const isText = (value: unknown): boolean => typeof value === 'string' && value.length <= LONGEST_PATH;
const maybe = (value: unknown): boolean => value === undefined || typeof value === 'boolean';

/** Members that a verb does not know are refused: a slot that is named and not looked at would be a trap. */
export function slotRequests(writer: SlotWriter, machine?: MachineActs) {
  const act = (run: (machine: MachineActs) => void): Verb => ({
    takes: { safeMode: maybe },
    run({ safeMode }) {
      if (!machine) throw new SlotRefused('SLOTS_UNAVAILABLE', 'no helper of root is here');
      if (safeMode === true) machine.safeMode();
      run(machine);
    },
  });
  const verbs: Readonly<Record<string, Verb>> = {
    status: { takes: {}, run: () => writer.status() },
    inspect: { takes: { folder: isPath }, run: ({ folder }) => writer.inspect(folder as string) },
    stage: { takes: { folder: isPath }, run: ({ folder }, heeding) => writer.stage(folder as string, heeding) },
    activate: { takes: { slot: isSlot }, run: ({ slot }) => writer.activate(slot as 'a' | 'b') },
    markGood: { takes: {}, run: () => writer.markGood() },
    markBad: { takes: { reason: isText }, run: ({ reason }) => writer.markBad(reason as string) },
    safeMode: { takes: {}, run: (_, heeding) => act((machine) => machine.safeMode()).run({}, heeding) },
    // The Core ends itself, and systemd starts it again: all that root does for it is the file of safe mode.
    restart: act(() => undefined),
    reboot: act((machine) => machine.reboot()),
    powerOff: act((machine) => machine.powerOff()),
  };
  return async (line: string, heeding: Heeding = {}): Promise<SlotAnswer> => {
    try {
      const { verb: name, ...members } = Object(JSON.parse(line)) as Members;
      const verb = Object.hasOwn(verbs, String(name)) ? verbs[String(name)] : undefined;
      if (!verb) throw new SyntaxError(`there is no verb ${JSON.stringify(name)}`.slice(0, 200));
      const wrong = [...Object.keys(members), ...Object.keys(verb.takes)].find((one) => {
        const good = Object.hasOwn(verb.takes, one) ? verb.takes[one] : undefined;
        return good === undefined || !good(members[one]);
      });
      if (wrong !== undefined) throw new SyntaxError(`${name}: ${JSON.stringify(wrong).slice(0, 100)} is wrong`);
      return { ok: (await verb.run(members, heeding)) ?? true };
    } catch (error) {
      if (error instanceof SlotRefused) return { refused: error.code, reason: error.message };
      return { failed: error instanceof Error ? error.message : String(error) };
    }
  };
}
