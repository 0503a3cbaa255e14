/** JSON Schema draft-07 (ajv). Object schemas refuse unknown members unless they say otherwise. */
export type JsonSchema = Readonly<Record<string, unknown>>;
