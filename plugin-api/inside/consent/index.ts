/**
 * Claims of an app, the rule that decides each, and the new demands of a version. Pure but for `seekConsent`, which
 * asks by service `prompts`.
 */

export { type Choosing, choicesOf, inTurn, optionalIn, YES, yesTo } from '../consent-choice.ts';
export {
  type ConsentPolicy,
  DEFAULT_POLICY,
  policyProblem,
  type Ruled,
  type Ruling,
  rulingOf,
} from '../consent-policy.ts';
export { answersAbout, mergeAnswers } from './answers.ts';
export { type Asking, type Claim, declaredBy, type Grant, grantOf, rightTo } from './claim.ts';
export { type Decision, decide, grantsOf, type Rule, type Rules, type SkuGrants, skuGrantLine } from './decide.ts';
export { type BudgetDifference, type Difference, difference, type FunctionDifference, isSame } from './difference.ts';
export {
  answersOf,
  denyOptional,
  givenBy,
  itemOf,
  questionOf,
  type Seeking,
  type SeekingServices,
  seekConsent,
} from './seek.ts';
export { type ActWords, actIn, type ClaimWords, claimIn, type RightWords, rightIn } from './words.ts';
