/** Payloads of the topics that ask for the panel (decisions D8): checked at the door, so that whoever draws can trust them. */
import { CoreError } from '@device-core/plugin-api';
import { packageLater } from '@device-core/plugin-api/inside/lazy-package';
import type { ErrorObject, ValidateFunction } from 'ajv';

const ajv = packageLater<typeof import('ajv')>('ajv', import.meta.url);

const SURFACE = {
  text: { type: 'string', minLength: 1, maxLength: 1000 },
  level: { enum: ['info', 'success', 'warn', 'error'] },
  durationMs: { type: 'integer', minimum: 1, maximum: 3_600_000 },
  icon: { type: 'string', minLength: 1, maxLength: 200 },
  id: { type: 'string', minLength: 1, maxLength: 100 },
};

const BUTTON = {
  type: 'object',
  additionalProperties: false,
  required: ['id', 'title'],
  properties: {
    id: { type: 'string', minLength: 1, maxLength: 100 },
    title: { type: 'string', minLength: 1, maxLength: 100 },
  },
};
/** In whose name the operator asks; apps have their own. */
const APP = { type: 'string', minLength: 1, maxLength: 128 };

const SCHEMAS = {
  'ui.toast': {
    type: 'object',
    additionalProperties: false,
    required: ['text', 'level'],
    properties: { ...SURFACE, app: APP },
  },
  'ui.banner': {
    type: 'object',
    additionalProperties: false,
    required: ['action'],
    properties: {
      ...SURFACE,
      app: APP,
      action: { enum: ['show', 'update', 'dismiss'] },
      progress: { type: 'number', minimum: 0, maximum: 1 },
      buttons: { type: 'array', maxItems: 2, items: BUTTON },
    },
    // A change or removal of a banner names it; only one that is shown has to be complete.
    if: { properties: { action: { const: 'show' } } },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { required: ['text', 'level'] },
    else: { required: ['id'] },
  },
};

export class UiPayloads {
  /** Compiled at first use: that takes longer than the rest of this plugin's start. */
  readonly #checks = new Map<string, ValidateFunction>();

  /** Throws PARAMS_INVALID where `topic` is one of the panel's and the payload does not fit. */
  check(topic: string, payload: object, operator: boolean): void {
    if (!isSurface(topic)) return;
    if (!operator && Object.hasOwn(payload, 'app'))
      throw new CoreError('PARAMS_INVALID', { where: `payload of ${topic}`, reason: 'there is no member app' });
    const { Ajv } = ajv();
    const fits = this.#checks.get(topic) ?? new Ajv({ strict: true, strictRequired: false }).compile(SCHEMAS[topic]);
    this.#checks.set(topic, fits);
    if (fits(payload)) return;
    // The failing branch explains itself before the `if` that chose it does.
    throw new CoreError('PARAMS_INVALID', { where: `payload of ${topic}`, reason: explain(fits.errors?.[0]) });
  }
}

function isSurface(topic: string): topic is keyof typeof SCHEMAS {
  return Object.hasOwn(SCHEMAS, topic);
}

function explain(error: ErrorObject | undefined): string {
  if (!error) return 'it does not fit';
  const { additionalProperty, allowedValues } = error.params as Record<string, unknown>;
  const member = error.instancePath.slice(1);
  if (additionalProperty !== undefined) return `there is no member ${String(additionalProperty).slice(0, 80)}`;
  if (Array.isArray(allowedValues)) return `${member} must be one of ${allowedValues.join(', ')}`;
  return `${member} ${error.message ?? 'does not fit'}`.trim();
}
