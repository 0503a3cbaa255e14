/** display.*: what apps show, and what the operator sees of it. */
import { readFile } from 'node:fs/promises';
import { type CallContext, type Capabilities, CoreError } from '@device-core/plugin-api';
import { exactly, textOf } from '@device-core/plugin-api/operation-kit';
import { IMAGE_LIMITS, imageSize, type ScenePatch } from '@device-core/plugin-api/scene';
import { type DisplayState, PANEL_POWER } from '@device-core/plugin-api/services/display';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import type { AppSurfaces, Shown } from './app-surfaces.ts';
import type { Screen } from './screen.ts';
import { seesAll } from './watch/frame-watch.ts';
import { surfacesOperation } from './watch/operations.ts';

const TEXT: JsonSchema = { type: 'string' };
const VERSION: JsonSchema = { type: 'integer', description: 'of the scene; a patch names the one that it is made for' };
const KEEP: JsonSchema = {
  type: 'boolean',
  default: false,
  description: 'stay in the foreground without touch or speech; needs `display.keep`',
};
const SHOWN: JsonSchema = exactly({
  state: {
    enum: ['foreground', 'covered', 'hidden', 'queued'],
    description: 'queued: a banner offers it to the person',
  },
  version: VERSION,
});
const UNITS: JsonSchema = { type: 'integer', description: 'panel units' };
const TARGETS: JsonSchema = {
  type: 'array',
  description: 'what lies above first; `display.touch` at x, y taps it',
  items: exactly(
    {
      label: TEXT,
      x: UNITS,
      y: UNITS,
      guarded: {
        type: 'boolean',
        description: 'a prompt: only a finger on the panel is heard, except on simulated devices',
      },
    },
    ['label', 'x', 'y'],
  ),
};
const SHOWS = ['SCENE_INVALID', 'SURFACE_TOO_COSTLY', 'RATE_LIMITED', 'CALLER_DENIED', 'APP_NOT_RUNNING'] as const;
const WHERE_SCENES = 'docs/reference/scenes.md and manifests/schema have all members.';
const OF_ALL = 'system.display';

/** A scene or a card on the way in: its members are looked at by the check that names the place of a mistake. */
function loose(description: string, members: JsonSchema): JsonSchema {
  return { type: 'object', description, additionalProperties: true, properties: { ...members, keep: KEEP } };
}

export function displayOperations(
  screen: Screen,
  apps: AppSurfaces,
  capabilities: Capabilities,
): readonly Operation<never, unknown>[] {
  const wantsKeep = (keep: boolean, { caller }: CallContext) => {
    if (keep) capabilities.require(caller, 'display.keep');
  };
  /** The surface that a call is about: the caller's own, or undefined for all of them. Throws CAPABILITY_DENIED, NOT_FOREGROUND. */
  const whose = ({ caller }: CallContext, all: boolean | undefined, verb: string): string | undefined => {
    const whole = all ?? caller.kind !== 'app';
    if (!whole) return apps.surfaceOf(caller, verb);
    capabilities.require(caller, OF_ALL);
    return undefined;
  };
  const ALL: JsonSchema = {
    type: 'boolean',
    description: `the whole screen instead of the caller's own surface; needs \`${OF_ALL}\`, and is what the operator gets`,
  };

  const state: Operation<never, DisplayState> = {
    name: 'display.state',
    summary: 'Is the panel lit, who has the foreground, who paints',
    params: exactly({}),
    result: exactly(
      {
        power: { enum: PANEL_POWER },
        brightness: { type: 'number', minimum: 0, maximum: 1 },
        app: { ...TEXT, description: 'id of the app in the foreground' },
        renderer: { ...TEXT, description: 'that paints now' },
        panel: { ...TEXT, description: 'driver of the glass' },
        problem: { ...TEXT, description: 'why nothing is seen' },
      },
      ['power', 'brightness'],
    ),
    rest: { method: 'GET', path: '/display' },
    cli: { aliases: ['display'] },
    errors: [],
    run: async () => screen.state,
  };
  const shows = (
    what: 'scene' | 'card',
  ): Pick<Operation<{ readonly keep: boolean }, Shown>, 'capability' | 'result' | 'errors' | 'run' | 'timeoutMs'> => ({
    capability: 'display.surface',
    result: SHOWN,
    errors: [...SHOWS, 'CAPABILITY_DENIED'],
    timeoutMs: 20_000,
    async run({ keep, ...value }, call) {
      wantsKeep(keep, call);
      if (!(what in value))
        throw new CoreError('SCENE_INVALID', { what: `the ${what}`, where: '', reason: `there is no member ${what}` });
      return await apps.show(call.caller, value, keep);
    },
  });
  const show: Operation<{ readonly keep: boolean }, Shown> = {
    ...shows('scene'),
    name: 'display.show',
    summary: 'Show a scene in the place of what the app showed before',
    description: `The body is the scene. In the foreground it is seen at once. Else it waits until the person opens the app, and a banner says so. ${WHERE_SCENES}`,
    params: loose('a scene (manifests/schema/scene.json)', {
      scene: { description: 'version of the format: 1' },
      nodes: { description: 'what is shown, from below to above' },
    }),
    rest: { method: 'PUT', path: '/display/surface', statusBy: { member: 'state', map: { queued: 202 } } },
    cli: { hide: true },
  };
  const card: Operation<{ readonly keep: boolean }, Shown> = {
    ...shows('card'),
    name: 'display.card',
    summary: 'Show a card: what it means, drawn as the device draws everything',
    description: `The body is the card. It follows the theme, the size of text and the direction of reading by itself. ${WHERE_SCENES}`,
    params: loose('a card (manifests/schema/card.json)', {
      card: { description: 'version of the format: 1' },
      template: { description: 'text, list, choice, image, progress, media or timer' },
    }),
    rest: { method: 'PUT', path: '/display/card', statusBy: { member: 'state', map: { queued: 202 } } },
    cli: { hide: true },
  };
  const hide: Operation<never, object> = {
    name: 'display.hide',
    summary: 'Take the scene or the card away',
    capability: 'display.surface',
    params: exactly({}),
    result: exactly({ hidden: { type: 'boolean', description: 'false: there was nothing' } }),
    rest: { method: 'DELETE', path: '/display/surface' },
    errors: ['CALLER_DENIED'],
    run: async (_params, { caller }) => ({ hidden: await apps.hide(caller) }),
  };
  const patch: Operation<ScenePatch, object> = {
    name: 'display.patch',
    summary: 'Change a scene: all of the patch or nothing',
    description: `A patch for another version is a conflict. A card is not patched: give another one. ${WHERE_SCENES}`,
    capability: 'display.surface',
    params: {
      type: 'object',
      description: 'a patch of a scene (manifests/schema/scene-patch.json)',
      additionalProperties: true,
      required: ['version'],
      properties: { version: VERSION },
    },
    result: exactly({ version: VERSION }),
    rest: { method: 'POST', path: '/display/patch' },
    cli: { hide: true },
    errors: [
      ...['NOT_FOREGROUND', 'SCENE_INVALID', 'SCENE_CONFLICT', 'SURFACE_TOO_COSTLY'],
      ...['RATE_LIMITED', 'CALLER_DENIED'],
    ] as Operation['errors'],
    run: (change, { caller }) => apps.patch(caller, change),
  };
  const image: Operation<{ readonly file: string }, object> = {
    name: 'display.image',
    summary: 'Hand over an image that scenes and cards may show',
    description:
      'The body is a PNG, JPEG or WebP of at most 2,048 x 2,048 pixels. The answer is the name that a scene gives. Over the app socket it is the stream display.images.',
    capability: 'display.surface',
    params: exactly({ file: { type: 'string', description: 'where the body lies; made by the front end' } }),
    result: exactly({
      image: { ...TEXT, description: '`sha256-` and the hash of its bytes' },
      width: { type: 'integer' },
      height: { type: 'integer' },
    }),
    rpc: false,
    cli: { hide: true },
    rest: { method: 'POST', path: '/display/images', raw: true, bodyLimit: IMAGE_LIMITS.bytes },
    errors: ['IMAGE_INVALID', 'CALLER_DENIED', 'BODY_TOO_LARGE', 'CONTENT_TYPE_INVALID'],
    async run({ file }, { caller }) {
      const bytes = await readFile(file);
      const size = imageSize(bytes, 'image');
      return {
        image: await screen.addImage(apps.ownerOf(caller), bytes, size),
        width: size.width,
        height: size.height,
      };
    },
  };
  const describe: Operation<{ readonly all?: boolean; readonly targets?: boolean }, object> = {
    name: 'display.describe',
    summary: 'The screen as text, a line each, what lies above first',
    access: `An app gets its own surface; all of it needs ${OF_ALL}.`,
    params: exactly(
      { all: ALL, targets: { type: 'boolean', default: false, description: 'what can be tapped, too' } },
      [],
    ),
    result: exactly({ text: { type: 'array', items: TEXT }, targets: TARGETS }, ['text']),
    rest: { method: 'GET', path: '/display/text' },
    cli: { hide: true },
    errors: ['NOT_FOREGROUND', 'CAPABILITY_DENIED', 'CALLER_DENIED'],
    async run({ all, targets }, call) {
      const surface = whose(call, all, 'describe the screen');
      const clear = seesAll(call.caller);
      return {
        text: screen.reader.describe(surface, clear),
        ...(targets && { targets: screen.reader.targets(surface, clear) }),
      };
    },
  };
  const screenshot: Operation<{ readonly all?: boolean }, object> = {
    name: 'display.screenshot',
    summary: 'A picture of the screen',
    description:
      'It is painted anew, so that it is there without a panel that can be read. While the panel shows a code to pair a browser, only the operator gets one.',
    access: `An app gets its own surface; all of it needs ${OF_ALL}.`,
    params: exactly({ all: ALL }, []),
    result: exactly({ png: { type: 'string', contentEncoding: 'base64', description: 'a PNG, base64 (RFC 4648)' } }),
    rest: { method: 'GET', path: '/display/screenshot' },
    cli: { hide: true },
    errors: ['NOT_FOREGROUND', 'CAPABILITY_DENIED', 'CALLER_DENIED', 'PANEL_UNAVAILABLE', 'TIMEOUT'],
    async run({ all }, call) {
      const surface = whose(call, all, 'show its picture');
      const whole = surface === undefined && !seesAll(call.caller);
      return { png: textOf(await (whole ? screen.publicSnapshot() : screen.snapshot(surface))) };
    },
  };
  const surfaces = surfacesOperation(screen, apps);
  return [state, surfaces, show, card, hide, patch, image, describe, screenshot] as readonly Operation<
    never,
    unknown
  >[];
}
