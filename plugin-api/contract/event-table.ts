/**
 * Every topic of the Core with its payload (decisions D8): what `/asyncapi.json` says, and what the manifests of the
 * tree may publish. Data only.
 */

import { CHANGE_STATES } from './change-state.ts';
import { CONSENT_LEVELS } from './consent-level.ts';
import type { JsonSchema } from './json-schema.ts';
import { UPDATE_STATES } from './update-state.ts';

export interface EventDescription {
  readonly summary: string;
  /** The latest is told to each new subscriber; of each subject, where the payload has one. */
  readonly retained?: boolean;
  /** Apps may publish it, too; absent: the Core and its plugins alone. */
  readonly apps?: boolean;
  readonly payload: JsonSchema;
}

const TEXT: JsonSchema = { type: 'string' };
const COUNT: JsonSchema = { type: 'integer', minimum: 0 };
const MS: JsonSchema = { type: 'number', description: 'milliseconds since the Unix epoch' };
const TURN: JsonSchema = { type: 'string', description: 'the turn of speech that it belongs to' };
const oneOf = (...values: readonly string[]): JsonSchema => ({ enum: values });

function record(required: readonly string[], properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return { type: 'object', required, properties };
}

const TIMED = { at: MS, atUs: { type: 'integer' }, timestampUs: COUNT, lost: COUNT };
const WORDS = {
  turn: TURN,
  text: TEXT,
  lang: TEXT,
  latencyMs: COUNT,
  confidence: { type: 'number', minimum: 0, maximum: 1 },
  stage: oneOf('local', 'cloud'),
};
const LOSS = {
  from: COUNT,
  to: COUNT,
  cutOff: { type: 'boolean' },
  counts: { type: 'object', additionalProperties: COUNT },
};
const SURFACE = {
  text: TEXT,
  icon: TEXT,
  id: TEXT,
  durationMs: { type: 'integer', minimum: 1 },
  level: oneOf('info', 'success', 'warn', 'error'),
  app: { ...TEXT, description: 'in whose name the Core or the operator asks; an app leaves it out' },
};

export const EVENTS: Readonly<Record<string, EventDescription>> = {
  'app.budget': {
    summary: 'an app comes near a budget, goes over it, or is back below it',
    payload: record(['app', 'budget', 'used', 'limit', 'state'], {
      app: TEXT,
      name: TEXT,
      used: { type: 'number' },
      limit: { type: 'number' },
      budget: oneOf('memory', 'cpu', 'tasks', 'storage', 'cache'),
      state: oneOf('near', 'over', 'back'),
    }),
  },
  'app.installed': {
    summary: 'an app was installed, or a new version of it; it is on probation',
    payload: record(['id', 'version'], { id: TEXT, version: TEXT, former: TEXT, signer: TEXT }),
  },
  'app.removed': {
    summary: 'an app was removed; its data are kept for a while unless they were purged',
    payload: record(['id', 'purged'], { id: TEXT, version: TEXT, purged: { type: 'boolean' } }),
  },
  'app.rolledback': {
    summary: 'a version of an app was taken back, with the reason',
    payload: record(['id', 'version', 'reason'], { id: TEXT, version: TEXT, reason: TEXT }),
  },
  'app.state': {
    summary: 'an app started, stopped, or failed',
    retained: true,
    payload: record(['app', 'state'], { app: TEXT, state: TEXT, reason: TEXT }),
  },
  'audio.capture': {
    summary: 'the microphone has a listener, or none any more',
    payload: record(['capturing', 'muted'], { capturing: { type: 'boolean' }, muted: { type: 'boolean' } }),
  },
  'audio.state': {
    summary: 'state of a turn of speech',
    payload: record(['state'], {
      turn: TURN,
      state: oneOf('idle', 'listening', 'thinking', 'speaking', 'muted', 'error'),
    }),
  },
  'audio.stt.final': {
    summary: 'spoken words',
    payload: record(['turn', 'text', 'lang', 'stage', 'latencyMs'], WORDS),
  },
  'audio.stt.partial': {
    summary: 'spoken words so far',
    payload: record(['turn', 'text', 'lang', 'stage', 'latencyMs'], WORDS),
  },
  'audio.tts.end': { summary: 'an answer was spoken', payload: record(['turn'], { turn: TURN }) },
  'audio.tts.start': { summary: 'an answer begins', payload: record(['turn'], { turn: TURN }) },
  'audio.volume': { summary: 'the volume was set', payload: record(['volume'], { volume: { type: 'number' } }) },
  'audio.wake': {
    summary: 'a wake word was heard, or a button pressed',
    payload: record(['turn', 'wakeword', 'score', 'source'], {
      turn: TURN,
      wakeword: TEXT,
      source: TEXT,
      score: { type: 'number', minimum: 0, maximum: 1 },
    }),
  },
  'bridge.link': {
    summary: 'the link to the bridge came up, went down, or degraded',
    payload: record(['state'], { state: TEXT, reason: TEXT, sid: COUNT }),
  },
  'can.frame': {
    summary: 'a CAN frame arrived at a handle',
    payload: record(['handle', 'id'], { handle: TEXT, id: COUNT, data: TEXT, ...TIMED }),
  },
  'can.state': {
    summary: 'a CAN bus changed its state',
    payload: record(['endpoint', 'state'], { endpoint: TEXT, state: TEXT, errors: {} }),
  },
  'change.state': {
    summary: 'a change that takes long or can be undone came further',
    payload: record(['change', 'kind', 'subject', 'state', 'done', 'of'], {
      change: TEXT,
      kind: TEXT,
      subject: TEXT,
      done: COUNT,
      of: COUNT,
      step: TEXT,
      state: oneOf(...CHANGE_STATES),
    }),
  },
  'config.changed': {
    summary: 'a value of the configuration of the device changed, or with `app` one that this app overrides',
    payload: record(['key', 'source', 'revision'], { key: TEXT, source: TEXT, revision: COUNT, app: TEXT }),
  },
  'display.state': {
    summary: 'the panel is lit or dark, and which app is in the foreground',
    payload: record(['power', 'brightness'], {
      power: oneOf('on', 'dim', 'off'),
      app: TEXT,
      brightness: { type: 'number', minimum: 0, maximum: 1 },
      renderer: TEXT,
      panel: TEXT,
      problem: TEXT,
    }),
  },
  'flag.changed': {
    summary: 'the value of a feature flag changed',
    payload: record(['name', 'source'], { name: TEXT, value: {}, source: oneOf('device', 'default') }),
  },
  'gpio.edge': {
    summary: 'an input changed its level',
    payload: record(['handle', 'level', 'at'], { handle: TEXT, level: { enum: [0, 1] }, ...TIMED }),
  },
  'input.key': {
    summary: 'a key of the device that the SKU marks as public',
    payload: record(['name', 'phase'], { name: TEXT, phase: oneOf('down', 'up') }),
  },
  'nfc.tag': {
    summary: 'a tag came to a reader, or went',
    payload: record(['reader', 'state'], { reader: TEXT, state: oneOf('arrived', 'removed'), uid: TEXT }),
  },
  'pio.interrupt': {
    summary: 'a PIO program raised an interrupt',
    payload: record(['endpoint', 'flags'], { endpoint: TEXT, flags: COUNT, ...TIMED }),
  },
  'pio.reset': {
    summary: 'the bridge began anew: PIO programs are gone',
    payload: record(['endpoint'], { endpoint: TEXT }),
  },
  'plugin.alarms.alarm': {
    summary: 'an alarm or a reminder was set or changed, rang, was missed, or was ended',
    payload: record(['state', 'id', 'kind'], { state: TEXT, id: TEXT, kind: oneOf('alarm', 'reminder') }),
  },
  'plugin.changed': {
    summary: 'the SKU was applied, refused, or undone',
    payload: record(['result'], { result: oneOf('applied', 'refused', 'undone'), reason: TEXT }),
  },
  'plugin.intent.timer': {
    summary: 'a timer that was set by voice began, rang, or was ended',
    payload: record(['state'], { state: TEXT }),
  },
  'plugin.state': {
    summary: 'a plugin started, stopped, waits, or failed',
    retained: true,
    payload: record(['plugin', 'state'], { plugin: TEXT, state: TEXT, reason: TEXT }),
  },
  'prompt.state': {
    summary: 'a question to the person who owns the device is open, or what became of it',
    payload: record(['id', 'kind', 'subject', 'state', 'until'], {
      id: TEXT,
      kind: oneOf('consent', 'confirm', 'update'),
      subject: TEXT,
      until: MS,
      state: oneOf('open', 'answered', 'expired', 'withdrawn'),
    }),
  },
  'secrets.state': {
    summary: 'the vault of secrets can be used, or why not',
    retained: true,
    payload: record(['state'], { state: oneOf('open', 'locked', 'failed'), code: TEXT, reason: TEXT }),
  },
  'system.boot': {
    summary: 'how the device started; with `fellBack` it left a slot, and that is not acknowledged yet',
    retained: true,
    payload: record(['safe'], {
      safe: { type: 'boolean' },
      fellBack: record(['slot', 'reason'], { slot: oneOf('a', 'b'), version: TEXT, reason: TEXT }),
    }),
  },
  'system.bus.dropped': {
    summary: 'events were lost for this subscriber; told to it alone',
    payload: record(Object.keys(LOSS), LOSS),
  },
  'system.network': {
    summary: 'reach of the network: the internet, its own network, or nothing',
    retained: true,
    payload: record(['state', 'type', 'metered'], {
      state: oneOf('online', 'local', 'offline'),
      type: { ...TEXT, description: 'ethernet, wifi, mobile, none' },
      metered: { type: 'boolean', description: 'what is sent costs money' },
    }),
  },
  'system.power': {
    summary: 'power source, and its charge',
    retained: true,
    payload: record(['source', 'state'], {
      source: oneOf('mains', 'battery'),
      level: { type: 'number', minimum: 0, maximum: 1, description: 'of the battery' },
      state: oneOf('ok', 'charging', 'low', 'critical', 'shutting-down'),
      reason: TEXT,
    }),
  },
  'system.presence': {
    summary: 'is a person there?',
    retained: true,
    payload: record(['state', 'confidence'], {
      state: oneOf('present', 'absent', 'unknown'),
      confidence: { type: 'number', minimum: 0, maximum: 1 },
    }),
  },
  'system.refused': {
    summary: 'capabilities were refused since this was told last: GET /refusals has them, for who may see them',
    payload: record(['count'], { count: COUNT }),
  },
  'system.time': {
    summary: 'can the clock be believed, and in which zone is the device?',
    retained: true,
    payload: record(['set', 'zone'], { set: { type: 'boolean' }, zone: TEXT }),
  },
  'telemetry.consent': {
    summary: 'the consent to telemetry was decided anew',
    payload: record(['level'], { level: oneOf(...CONSENT_LEVELS), by: TEXT }),
  },
  'uart.error': {
    summary: 'a serial line lost or damaged bytes',
    payload: record(['handle', 'errors'], { handle: TEXT, errors: { type: 'array', items: TEXT } }),
  },
  'ui.banner': {
    summary: 'a banner on the panel is shown, updated, or dismissed',
    apps: true,
    payload: record(['action'], {
      ...SURFACE,
      action: oneOf('show', 'update', 'dismiss'),
      progress: { type: 'number', minimum: 0, maximum: 1 },
      buttons: { type: 'array', maxItems: 2, items: record(['id', 'title'], { id: TEXT, title: TEXT }) },
    }),
  },
  'ui.toast': { summary: 'a short message on the panel', apps: true, payload: record(['text', 'level'], SURFACE) },
  'update.state': {
    summary: 'state of an update of the device',
    retained: true,
    payload: record(['state'], {
      state: { enum: UPDATE_STATES },
      version: TEXT,
      from: TEXT,
      slot: oneOf('a', 'b'),
      reason: TEXT,
      percent: { type: 'number', minimum: 0, maximum: 100 },
    }),
  },
};
