/** Parts of the Core's own programs: waiting for a change, answering a question, packages and passphrases from the command line. */
export { type AnsweringHere, answerHere } from './answer-here.ts';
export { type Waiting, whenChanged } from './change.ts';
export { claimLines } from './claim-text.ts';
export { type Fetched, fetchPackage } from './packages.ts';
export { passphraseFrom } from './passphrase-file.ts';
export { pause } from './pause.ts';
export { isAnswerable, saysYes } from './person.ts';
export { openPrompts, promptLines, promptNamed, rightLines } from './questions.ts';
