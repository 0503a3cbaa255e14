/** Schemas of questions to a person, as results of operations show them. */
import type { JsonSchema } from '../../contract/json-schema.ts';

const TEXT: JsonSchema = { type: 'string' };
export const PROMPT_PARAMS: JsonSchema = {
  type: 'object',
  description: 'what the capability alone does not say: `ports` of a host',
  additionalProperties: true,
};
const ITEMS: JsonSchema = {
  type: 'array',
  items: {
    type: 'object',
    required: ['capability', 'summary', 'reason', 'optional'],
    properties: {
      capability: TEXT,
      params: PROMPT_PARAMS,
      summary: { ...TEXT, description: 'what it allows, a sentence' },
      reason: { ...TEXT, description: "in the app's own words; to be shown as such" },
      optional: { type: 'boolean', description: 'the app is of use without it' },
      widens: { ...TEXT, description: 'a grant that it has now and that this one contains' },
      sole: { type: 'boolean', description: 'the only host that the app may reach' },
    },
  },
};
const CLAIMS: JsonSchema = {
  type: 'array',
  description: 'rights that no capability names',
  items: {
    type: 'object',
    required: ['kind', 'name', 'summary'],
    properties: {
      kind: { enum: ['level', 'reads', 'writes', 'service', 'tap', 'other'] },
      name: TEXT,
      summary: { ...TEXT, description: 'a sentence' },
    },
  },
};
const SUBJECT: Readonly<Record<string, JsonSchema>> = {
  id: TEXT,
  title: { ...TEXT, description: 'as it calls itself' },
  version: TEXT,
  signer: {
    type: ['string', 'null'],
    description: 'name of the key that signed it, or its fingerprint; null: unsigned',
  },
  answers: { ...TEXT, description: 'id of the question that the act answers' },
};

/** Members that a question has whatever it is about. */
export const PROMPT_RIGHTS: Readonly<Record<string, JsonSchema>> = { what: ITEMS, claims: CLAIMS };
/** The subject of an act: an app, a plugin. */
export const ACT_ABOUT: JsonSchema = { type: 'object', required: ['id'], properties: SUBJECT };
/** The same with the rights that the act gives. */
export const ACT_SUBJECT: JsonSchema = {
  type: 'object',
  required: ['id'],
  properties: { ...SUBJECT, ...PROMPT_RIGHTS },
};
/** Params that an act names, for words in another language. */
export const ACT_NAMES: JsonSchema = { type: 'object', additionalProperties: TEXT };
