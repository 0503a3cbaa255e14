/** Members of contracts in which the caller names an actor: a guest acts as itself alone. */

/**
 * Place of the actor in the arguments: the argument, and its members where it is an object. `name`: `plugin.<id>`;
 * `owner`: `plugin:<id>`, as the books of sound say; `caller`: a Caller.
 */
export interface Actor {
  readonly argument: number;
  readonly members?: readonly string[];
  /** Members that the Core alone says. */
  readonly without?: readonly string[];
  readonly as: 'name' | 'owner' | 'caller';
}

const name = (argument: number, member?: string): Actor => ({
  argument,
  ...(member && { members: [member] }),
  as: 'name',
});

const owner = (argument: number): Actor => ({ argument, members: ['owner'], as: 'owner' });

/** Contract -> member -> the actor, which the kernel writes for a guest. */
export const ACTORS: Readonly<Record<string, Readonly<Record<string, Actor>>>> = {
  audio: {
    capture: owner(0),
    play: owner(1),
    tones: owner(1),
    feedback: owner(1),
  },
  can: { register: name(1) },
  config: { set: name(3, 'by') },
  functions: { call: { argument: 0, members: ['caller'], as: 'caller' } },
  gpio: { register: name(1) },
  i2c: { register: name(1) },
  intents: { add: name(2), addInterpreter: name(2) },
  nfc: { register: name(2) },
  pio: { register: name(1) },
  // A question names its asker, which is no app id, and not the Core's act, signer or subject.
  prompts: {
    ask: {
      argument: 0,
      members: ['subject', 'title'],
      without: ['signer', 'version', 'about', 'operation', 'names'],
      as: 'owner',
    },
    withdraw: { argument: 0, as: 'owner' },
  },
  sensors: { register: name(2) },
  speech: { register: name(3) },
  spi: { register: name(1) },
  uart: { register: name(1) },
  voice: { say: owner(1) },
};

/** Contract -> members that act for an app: the Core says them, and no guest. */
export const FOR_APPS: Readonly<Record<string, readonly string[]>> = {
  config: ['describeApp'],
  functions: ['register', 'offer', 'unregister'],
};

/** Writes plugin `id` as the actor into the arguments of a call. */
export function sayingOf({ argument, members, without = [], as }: Actor, id: string): (args: unknown[]) => void {
  const values = { name: `plugin.${id}`, owner: `plugin:${id}`, caller: Object.freeze({ kind: 'plugin', id }) };
  const value = values[as];
  const gone = without.map((name) => [name, undefined] as const);
  const fixed = members && Object.fromEntries([...gone, ...members.map((name) => [name, value] as const)]);
  return (args) => {
    args[argument] = fixed ? { ...Object(args[argument]), ...fixed } : value;
  };
}
