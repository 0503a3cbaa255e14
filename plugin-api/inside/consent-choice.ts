/**
 * Answers that a question takes, and the rights that a yes allows before anything is switched: the one rule of panel,
 * page, voice and devicectl. What is required is on and cannot be switched off without a no to the whole; what is
 * optional is off. Without imports: browsers load it, too. Pure.
 */

/** The one word that answers a question without capabilities of its own. */
export const YES = 'yes';

/** A question, as far as its answer goes. */
export interface Choosing {
  readonly kind: string;
  readonly what: readonly { readonly capability: string; readonly optional: boolean }[];
}

/** Rights that an answer may allow. An act that waits for a yes is answered as a whole. */
export function choicesOf({ kind, what }: Choosing): readonly string[] {
  if (kind === 'confirm' || what.length === 0) return [YES];
  return [...new Set(what.map(({ capability }) => capability))];
}

/** Those that a person may switch: optional in every place of the question. */
export function optionalIn(question: Choosing): readonly string[] {
  const { what } = question;
  return choicesOf(question).filter(
    (choice) => choice !== YES && what.every(({ capability, optional }) => capability !== choice || optional),
  );
}

/** A yes: all that is required, and of what is optional what was switched on. */
export function yesTo(question: Choosing, on: Iterable<string> = []): readonly string[] {
  const optional = new Set(optionalIn(question));
  const chosen = new Set(on);
  return choicesOf(question).filter((choice) => !optional.has(choice) || chosen.has(choice));
}

/** The order in which a person answers: an act that waits for a yes stands before the questions that it may answer. */
export function inTurn<T extends Pick<Choosing, 'kind'>>(questions: readonly T[]): readonly T[] {
  return [...questions.filter(({ kind }) => kind === 'confirm'), ...questions.filter(({ kind }) => kind !== 'confirm')];
}
