/** Answers of the Core on apps, refusals, changes and questions, as far as the start page shows them. */
import type { Answers } from '../../core/answers.ts';
export type App = Answers['apps.list']['apps'][number];

export type Refusal = Answers['system.refusals']['refusals'][number];

export type Change = Answers['changes.list']['changes'][number];

export type Prompt = Answers['prompts.list']['prompts'][number];
