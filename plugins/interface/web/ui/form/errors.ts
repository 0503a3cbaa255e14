/** Errors of the Core about a value, mapped to the fields of the form. */

export interface FieldError {
  /** A JSON pointer (`/steps/0/name`) or a member as the Core names it (`steps[0].name`); empty for the value as a whole. */
  readonly at: string;
  readonly message: string;
}

/** Errors that are about this member, seen from there; `undefined` in the answer for those that are not. */
function below({ at, message }: FieldError, name: string | number): FieldError | undefined {
  const pointer = at.startsWith('/');
  const step = pointer
    ? `/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`
    : typeof name === 'number'
      ? `[${name}]`
      : name;
  if (!at.startsWith(step)) return undefined;
  const rest = at.slice(step.length);
  if (rest === '') return { at: '', message };
  if (pointer) return rest.startsWith('/') ? { at: rest, message } : undefined;
  if (rest.startsWith('[')) return { at: rest, message };
  return rest.startsWith('.') ? { at: rest.slice(1), message } : undefined;
}

/** Shares errors out to the members of a group or the items of a list. Those that no member takes are the group's own. */
export function share<N extends string | number>(
  errors: readonly FieldError[],
  names: readonly N[],
): { readonly own: readonly FieldError[]; readonly of: ReadonlyMap<N, readonly FieldError[]> } {
  const own: FieldError[] = [];
  const of = new Map<N, FieldError[]>();
  // A name with a dot is longer than the one that it begins with.
  const longest = [...names].sort((a, b) => String(b).length - String(a).length);
  for (const error of errors) {
    let taken = false;
    for (const name of longest) {
      const inner = below(error, name);
      if (inner === undefined) continue;
      of.set(name, [...(of.get(name) ?? []), inner]);
      taken = true;
      break;
    }
    if (!taken) own.push(error);
  }
  return { own, of };
}

/**
 * Errors of an answer of the Core. `root` is what the Core calls the value as a whole: `params` for an operation, the
 * key for a setting; a member that begins with it is counted from there.
 */
export function errorsOf(thrown: unknown, root = 'params'): readonly FieldError[] {
  const { message, data = {} } = (thrown ?? {}) as { message?: string; data?: Readonly<Record<string, unknown>> };
  const text = typeof data.reason === 'string' ? data.reason : (message ?? String(thrown));
  if (typeof data.pointer === 'string') return [{ at: data.pointer, message: text }];
  if (typeof data.member !== 'string') return [{ at: '', message: text }];
  const [own = { at: data.member, message: text }] =
    share([{ at: data.member, message: text }], [root]).of.get(root) ?? [];
  return [own];
}
