/** Demands of a version beyond the present grants. Pure. */
import { maybe } from '../../kits/maybe.ts';
import { type Asking, type Claim, claimOf, covers, declaredBy, type Grant, grantOf } from './claim.ts';

export interface BudgetDifference {
  /** As in the manifest: `memoryMaxMB`. */
  readonly budget: string;
  /** Absent: it named none. */
  readonly from?: number;
  readonly to?: number;
}

export interface FunctionDifference {
  readonly name: string;
  readonly kind: 'added' | 'changed' | 'removed';
  /** Sentences that lead to it now. */
  readonly utterances: readonly string[];
}

export interface Difference {
  /** Claims above class normal that no grant implies: a person has to decide. */
  readonly asked: readonly Claim[];
  /** Claims of class normal: shown, not held back. */
  readonly told: readonly Claim[];
  /** Grants that it does not ask for any more. */
  readonly dropped: readonly Grant[];
  readonly budgets: readonly BudgetDifference[];
  readonly functions: readonly FunctionDifference[];
}

/**
 * Claims of the next version that no grant of the former one implies, ports included; `widens` names the grant that a
 * claim contains. `former` is undefined for a new app. Smaller demands pass.
 */
export function difference(former: Asking | undefined, next: Asking, grants: readonly Grant[]): Difference {
  const claims = declaredBy(next).flatMap((declared) => {
    const open = declared.wants.filter((want) => !grants.some((grant) => covers(grant, want)));
    return open.length > 0 ? [claimOf(declared, open, grants)] : [];
  });
  return {
    asked: claims.filter(({ class: kind }) => kind !== 'normal'),
    told: claims.filter(({ class: kind }) => kind === 'normal'),
    dropped: droppedBy(former, next),
    budgets: budgetsOf(former, next),
    functions: functionsOf(former, next),
  };
}

/** There is nothing to tell. */
export function isSame({ asked, told, dropped, budgets, functions }: Difference): boolean {
  return [asked, told, dropped, budgets, functions].every((part) => part.length === 0);
}

function droppedBy(former: Asking | undefined, next: Asking): readonly Grant[] {
  if (!former) return [];
  const now: readonly Grant[] = declaredBy(next).map(({ capability, wants }) => grantOf(capability, wants));
  return declaredBy(former).flatMap(({ capability, wants }) => {
    const gone = wants.filter((want) => !now.some((grant) => covers(grant, want)));
    return gone.length > 0 ? [grantOf(capability, gone)] : [];
  });
}

function budgetsOf(former: Asking | undefined, next: Asking): readonly BudgetDifference[] {
  const before = former?.resources ?? {};
  const after = next.resources ?? {};
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted().flatMap((budget) => {
    const from = before[budget];
    const to = after[budget];
    if (from === to) return [];
    return [{ budget, ...maybe({ from, to }) }];
  });
}

/** A name may stand there with several versions. */
function functionsOf(former: Asking | undefined, next: Asking): readonly FunctionDifference[] {
  const before = Map.groupBy(former?.functions ?? [], ({ name }) => name);
  const after = Map.groupBy(next.functions ?? [], ({ name }) => name);
  return [...new Set([...after.keys(), ...before.keys()])].flatMap((name): readonly FunctionDifference[] => {
    const [was, is] = [before.get(name), after.get(name)];
    if (JSON.stringify(was) === JSON.stringify(is)) return [];
    const utterances = (is ?? []).flatMap((entry) => entry.utterances ?? []);
    return [{ name, kind: was ? (is ? 'changed' : 'removed') : 'added', utterances }];
  });
}
