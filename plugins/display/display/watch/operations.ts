/** display.surfaces: who is on the screen, in front or waiting, and what its frames cost. */

import { maybe } from '@device-core/plugin-api';
import { exactly } from '@device-core/plugin-api/operation-kit';
import type { Operation } from '@device-core/plugin-api/services/operations';
import { LAYERS, type Layer } from '@device-core/plugin-api/services/renderer';
import type { AppSurfaces } from '../app-surfaces.ts';
import type { Screen } from '../screen.ts';

const COUNT = { type: 'integer', minimum: 0 };
const MS = { type: 'number', minimum: 0, description: 'milliseconds' };
const nameOf = (layer: Layer): string =>
  Object.entries(LAYERS).find(([, value]) => value === layer)?.[0] ?? String(layer);

export function surfacesOperation(screen: Screen, apps: AppSurfaces): Operation<never, object> {
  return {
    name: 'display.surfaces',
    summary: 'Surfaces on the screen, top first, those that wait, and the cost of frames',
    description: 'Costs are those of the last second in which something was painted.',
    capability: 'system.display',
    params: exactly({}),
    result: exactly({
      surfaces: {
        type: 'array',
        items: exactly(
          {
            id: { type: 'string' },
            layer: { enum: Object.keys(LAYERS) },
            app: { type: 'string', description: 'whose it is, where it is of an app' },
            state: {
              enum: ['foreground', 'covered', 'hidden'],
              description: 'of an app; of others: is it drawn (foreground) or kept (hidden)',
            },
            version: COUNT,
            fps: { type: 'number', description: 'frames a second that it is held to' },
            frames: { ...COUNT, description: 'in `report.ms`' },
            cpuMs: { ...MS, description: 'CPU of those frames' },
            budgetMs: { ...MS, description: 'CPU of a frame that an app may take' },
          },
          ['id', 'layer', 'state', 'version'],
        ),
      },
      report: exactly({
        at: { type: 'number', description: 'milliseconds since the Unix epoch; 0: nothing was painted yet' },
        ms: { ...MS, description: 'milliseconds that it covers' },
        frames: COUNT,
        cpuMs: MS,
      }),
    }),
    rest: { method: 'GET', path: '/display/surfaces' },
    cli: {
      command: 'display surfaces',
      columns: ['id', 'layer', 'state', 'version', 'frames', 'cpuMs'],
      empty: 'nothing is shown',
    },
    errors: [],
    async run() {
      const { at, ms, frames, cpuMs, surfaces: costs } = screen.report;
      const surfaces = screen.tree.rows.toReversed().map(({ surface: { id, layer, version, fps, hidden } }) => {
        const cost = costs.find(({ surface }) => surface === id);
        const own = apps.about(id);
        return {
          id,
          layer: nameOf(layer),
          version,
          state: own?.state ?? (hidden ? 'hidden' : 'foreground'),
          ...(own && { app: own.app, budgetMs: own.budgetMs }),
          ...maybe({ fps }),
          ...(cost && { frames: cost.frames, cpuMs: rounded(cost.cpuMs) }),
        };
      });
      return { surfaces, report: { at, ms: Math.round(ms), frames, cpuMs: rounded(cpuMs) } };
    },
  };
}

const rounded = (ms: number): number => Math.round(ms * 100) / 100;
