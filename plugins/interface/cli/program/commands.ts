/** Commands by their words: those made from operations, and programs. No list of them is written down anywhere. */
import { commandOf, singular } from '@device-core/plugin-api/inside/command-words';
import type { CliView } from '@device-core/plugin-api/services/operations';
import { parametersOf } from './parameters.ts';
import type { ProgramPlace } from './programs.ts';
import type { Method } from './table.ts';

interface Words {
  readonly path: readonly string[];
  /** Other paths to it. */
  readonly aliases: readonly (readonly string[])[];
  readonly summary: string;
}

export interface OperationCommand extends Words {
  readonly kind: 'operation';
  readonly method: Method;
  readonly view: CliView;
}

export interface ProgramCommand extends Words {
  readonly kind: 'program';
  readonly place: ProgramPlace;
}

export type Command = OperationCommand | ProgramCommand;

/** Command of the leading words of a command line, and the number of words that name it. */
export interface Found {
  readonly command: Command;
  readonly used: number;
}

export function operationCommands(methods: readonly Method[]): readonly OperationCommand[] {
  return methods.flatMap((method) =>
    method.views
      .filter(({ hide }) => hide !== true)
      .map((view): OperationCommand => {
        const path = split(view.command ?? commandOf(method.name));
        const aliases = (view.aliases ?? []).map(split);
        return { kind: 'operation', path, aliases, summary: method.summary, method, view };
      }),
  );
}

export function programCommands(places: readonly ProgramPlace[]): readonly ProgramCommand[] {
  return places.map((place) => {
    const { command, aliases = [], summary } = place;
    return { kind: 'program', path: split(command), aliases: aliases.map(split), summary, place };
  });
}

function split(words: string): readonly string[] {
  return words.split(' ');
}

export class Commands {
  readonly all: readonly Command[];

  /** A program goes before the operation of the same words: it is made of it. */
  constructor(commands: readonly Command[]) {
    const seen = new Set<string>();
    const sorted = commands.toSorted((a, b) => Number(a.kind === 'operation') - Number(b.kind === 'operation'));
    const own = sorted.filter(({ path }) => {
      const words = path.join(' ');
      return !seen.has(words) && seen.add(words);
    });
    this.all = own.toSorted((a, b) => (a.path.join(' ') < b.path.join(' ') ? -1 : 1));
  }

  /** The longest match. A noun may be written in the plural; alone, or before what is no verb of it, it means its `list`. */
  find(words: readonly string[]): Found | undefined {
    return this.#find(words) ?? this.#find([singular(words[0] ?? ''), ...words.slice(1)]);
  }

  #find(words: readonly string[]): Found | undefined {
    for (let used = words.length; used > 0; used -= 1) {
      const named = this.#named(words.slice(0, used));
      if (named) return { command: named, used };
    }
    const list = this.#named([words[0] ?? '', 'list']);
    if (!list || list.kind === 'program') return list && words.length === 1 ? { command: list, used: 1 } : undefined;
    const places = parametersOf(list.method.params, list.view).some(({ place }) => place !== undefined);
    return words.length === 1 || places ? { command: list, used: 1 } : undefined;
  }

  #named(words: readonly string[]): Command | undefined {
    const is = (path: readonly string[]) =>
      path.length === words.length && path.every((word, at) => word === words[at]);
    return this.all.find(({ path }) => is(path)) ?? this.all.find(({ aliases }) => aliases.some(is));
  }

  /** Commands below these words, `plugin` or `app`. */
  below(words: readonly string[]): readonly Command[] {
    const among = (start: readonly string[]) =>
      this.all.filter(({ path }) => path.length > start.length && start.every((word, at) => path[at] === word));
    const found = among(words);
    return found.length > 0 || words.length === 0 ? found : among([singular(words[0]!), ...words.slice(1)]);
  }

  /** Words that may come after these. */
  next(words: readonly string[]): readonly string[] {
    return [...new Set(this.below(words).map(({ path }) => path[words.length]!))];
  }
}
